// npm run -s trainyard -- COMMAND: the command line, built first when the sources are newer.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from './build.mjs';
import { node, root } from './paths.mjs';

if (!build({ onlyIfStale: true, quiet: true })) {
  console.error('trainyard: the build failed (see above), so there is nothing to run.');
  process.exit(70);
}
const program = path.join(root, 'out/main/cli.js');
if (Number(process.versions.node.split('.')[0]) >= 24) {
  process.argv[1] = program;
  await import(pathToFileURL(program).href);
} else {
  const child = spawn(node, [program, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal ? 130 : (code ?? 1)));
}
