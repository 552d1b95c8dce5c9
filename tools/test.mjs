// npm test, npm run e2e and .ci/run: each named step in order, and one line at the end that says how many tests passed.
//   node tools/test.mjs [lint] [typecheck] [unit] [build] [e2e] [options for the last of unit and e2e]
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { build } from './build.mjs';
import { ensureChromium } from './chromium.mjs';
import { countTests } from './ci-summary.mjs';
import { node, projectEnv, root } from './paths.mjs';

/**
 * @param {string} script a program's file below node_modules
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 */
function runNode(script, args, env) {
  const file = path.join(root, 'node_modules', script);
  return spawnSync(node, [file, ...args], { cwd: root, stdio: 'inherit', env: projectEnv(env) }).status === 0;
}

/** @type {Record<string, (options: string[]) => boolean | Promise<boolean>>} */
const steps = {
  lint: () =>
    runNode('eslint/bin/eslint.js', ['.']) &&
    runNode('prettier/bin/prettier.cjs', ['--check', '--log-level', 'warn', '.']),
  typecheck: () =>
    runNode('typescript/bin/tsc', ['-p', 'tsconfig.node.json']) &&
    runNode('vue-tsc/bin/vue-tsc.js', ['-p', 'tsconfig.web.json']),
  unit: (options) =>
    runNode('vitest/vitest.mjs', [
      'run',
      ...['--reporter=default', '--reporter=json', '--outputFile.json=reports/vitest.json'],
      ...options,
    ]),
  build: () => build({ quiet: true }),
  e2e: async (options) =>
    (await ensureChromium()) &&
    build({ onlyIfStale: true, quiet: true }) &&
    runNode('@playwright/test/cli.js', ['test', '--reporter=list,json', ...options], {
      PLAYWRIGHT_JSON_OUTPUT_NAME: 'reports/playwright.json',
    }),
};

const args = process.argv.slice(2);
const firstOption = args.findIndex((word) => !Object.hasOwn(steps, word));
const named = firstOption < 0 ? args : args.slice(0, firstOption);
const options = firstOption < 0 ? [] : args.slice(firstOption);
const chosen = named.length > 0 ? named : ['build', 'unit', 'e2e'];

for (const dir of ['reports', 'test-results']) rmSync(path.join(root, dir), { recursive: true, force: true });
/** @type {string[]} */
const failedSteps = [];
for (const name of chosen) {
  console.log(`\n── ${name} ──`);
  if (!(await steps[name]?.(name === chosen.at(-1) ? options : []))) failedSteps.push(name);
}

const count = countTests({ unit: chosen.includes('unit'), e2e: chosen.includes('e2e') });
// lint, types and the build have no tests to count, so each counts as one where it fails
const failed = count.failed + failedSteps.filter((name) => name !== 'unit' && name !== 'e2e').length;
if (failedSteps.length > 0) console.log(`\nfailed: ${failedSteps.join(', ')}`);
console.log(`${count.passed} passed, ${failed} failed, ${count.skipped} skipped`);
process.exit(failedSteps.length > 0 || failed > 0 ? 1 : 0);
