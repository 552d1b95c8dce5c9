import vue from '@vitejs/plugin-vue';
import { defineConfig } from 'electron-vite';
import type { Plugin } from 'vite';
import { pagePolicy } from './src/main/csp.ts';

/** The built page carries its policy with it, for file://. The dev server's own style and script tags would break it. */
function contentSecurityPolicy(): Plugin {
  return {
    name: 'trainyard:csp',
    apply: 'build',
    transformIndexHtml: () => [
      {
        tag: 'meta',
        attrs: { 'http-equiv': 'Content-Security-Policy', content: pagePolicy },
        injectTo: 'head-prepend',
      },
    ],
  };
}

export default defineConfig({
  main: {
    build: {
      sourcemap: true,
      rolldownOptions: {
        // one graph of shared chunks, three programs: the window, the browser door, the command line
        input: { index: 'src/main/electron/index.ts', serve: 'src/main/server/index.ts', cli: 'src/main/cli/index.ts' },
      },
    },
  },
  preload: {
    build: {
      externalizeDeps: false, // a sandboxed preload cannot require packages: bundle all but electron
      rolldownOptions: {
        input: { preload: 'src/main/electron/preload.ts' },
        output: { format: 'cjs', entryFileNames: '[name].cjs' }, // sandbox: true needs CommonJS
      },
    },
  },
  renderer: {
    // src/renderer and its index.html are electron-vite's defaults; a relative input here breaks the dev server's scan
    plugins: [vue(), contentSecurityPolicy()],
    build: { minify: true, chunkSizeWarningLimit: 1000 }, // electron-vite turns minify off by default
  },
});
