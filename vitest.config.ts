import vue from '@vitejs/plugin-vue';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

const query = '?nodeWorker';

/** electron-vite answers `?nodeWorker` only while building; under test Node runs the worker's .ts as it is. */
function nodeWorker(): Plugin {
  return {
    name: 'test:node-worker',
    enforce: 'pre',
    async resolveId(id, importer) {
      if (!id.endsWith(query)) return;
      const file = await this.resolve(id.slice(0, -query.length), importer);
      return file ? file.id + query : undefined;
    },
    load(id) {
      if (!id.endsWith(query)) return;
      const url = pathToFileURL(id.slice(0, -query.length)).href;
      return `import { Worker } from 'node:worker_threads';
        export default (options) => new Worker(new URL(${JSON.stringify(url)}), options);`;
    },
  };
}

export default defineConfig({
  test: {
    coverage: { provider: 'v8', include: ['src/**/*.{ts,vue}'], reporter: ['text-summary', 'html'] },
    projects: [
      {
        plugins: [nodeWorker()],
        test: {
          name: 'node',
          environment: 'node',
          include: ['src/*.test.ts', 'src/{main,shared}/**/*.test.ts', '{tools,bench}/**/*.test.{ts,mjs}'],
          testTimeout: 20_000,
        },
      },
      {
        plugins: [vue()],
        test: { name: 'renderer', environment: 'happy-dom', include: ['src/renderer/**/*.test.ts'] },
      },
    ],
  },
});
