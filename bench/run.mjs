// `npm run bench [-- --quick]`: measures the engine, prints a table and writes bench/results/DATE.json.
import { registerHooks } from 'node:module';

// electron-vite answers `?nodeWorker` while building; nothing here starts a worker
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.endsWith('?nodeWorker')
      ? { url: 'data:text/javascript,export default null', shortCircuit: true }
      : next(specifier, context),
});

const { runBench } = await import('./suite.ts');
runBench({ isQuick: process.argv.includes('--quick') });
