import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import vue from 'eslint-plugin-vue';
import { defineConfig, globalIgnores } from 'eslint/config';
import ts from 'typescript-eslint';
import { layers } from './config/layers.ts';

const escape = (text) => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
const alias = (path) => path.replace(/^src\/(shared|main)\//, '#$1/');

/** One row of config/layers.ts as lint rules. Relative imports are left to src/architecture.test.ts, which resolves them. */
function layerRules(layer) {
  const own = [layer.path, ...layer.uses].map((path) => `${escape(alias(path))}(/|$)`);
  const packages = (layer.packages ?? []).map((name) => (name === 'node:' ? 'node:' : `${escape(name)}(/|$)`));
  const types = (layer.types ?? []).map((path) => `${escape(alias(path))}(/|$)`);
  const patterns = [
    {
      regex: `^(?!\\.|${[...own, ...packages, ...types].join('|')})`,
      message: `${layer.path} may not import this: see config/layers.ts.`,
    },
  ];
  if (types.length > 0)
    patterns.push({
      regex: `^(${types.join('|')})`,
      allowTypeImports: true,
      message: `${layer.path} may take only types from here: see config/layers.ts.`,
    });
  const isFile = layer.path.endsWith('.ts');
  return {
    files: [isFile ? layer.path : `${layer.path}/**/*.{ts,vue}`],
    ignores: ['**/*.test.ts', '**/*.d.ts'],
    rules: { '@typescript-eslint/no-restricted-imports': ['error', { patterns }] },
  };
}

export default defineConfig(
  globalIgnores(['out/', 'dist/', 'coverage/', 'test-results/', 'playwright-report/', 'reports/']),
  js.configs.recommended,
  ts.configs.strictTypeChecked,
  vue.configs['flat/recommended'],
  {
    languageOptions: {
      parserOptions: {
        parser: ts.parser, // for <script lang="ts"> inside .vue
        extraFileExtensions: ['.vue'],
        project: ['./tsconfig.node.json', './tsconfig.web.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
  },
  {
    files: ['**/*.{ts,vue}'],
    rules: {
      'no-undef': 'off', // tsc and vue-tsc know what is defined; this rule only guesses
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-confusing-void-expression': 'off', // `return answer(res, 405)` is how a handler ends early
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['**/*.test.ts', 'src/renderer/stores/**'], // a setup store is one long function by design
    rules: { 'max-lines-per-function': ['error', { max: 50, skipBlankLines: true, skipComments: true }] },
  },
  {
    files: ['src/**/*.{ts,vue}'],
    ignores: ['**/*.test.ts'],
    rules: { 'max-params': ['error', 4], 'max-depth': ['error', 3] },
  },
  {
    files: ['src/shared/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['window', 'document', 'navigator', 'localStorage', 'fetch', 'process', 'Buffer', 'setTimeout'],
      ],
    },
  },
  {
    files: ['src/shared/engine/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'the engine has no clock: take the time as an argument' },
        { object: 'performance', property: 'now', message: 'the engine has no clock: take the time as an argument' },
        { object: 'Math', property: 'random', message: 'the engine is deterministic: take a seed as an argument' },
      ],
    },
  },
  {
    files: ['src/main/{cli,server}/**/*.ts', 'bench/**/*.ts', 'e2e/**/*.ts', 'tools/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    // Electron's statics declare instances in a way that this rule takes for strangers
    files: ['src/main/electron/**/*.ts'],
    rules: { '@typescript-eslint/no-unsafe-class-instance-assignment': 'off' },
  },
  ...layers.toSorted((a, b) => a.path.length - b.path.length).map(layerRules),
  {
    files: ['**/*.test.ts', 'e2e/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off', // expect.any() and friends are typed any
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
  {
    files: ['e2e/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { regex: 'src/(?!shared/schema)|^#(?!shared/schema)', message: 'e2e drives the app only through the page' },
          ],
        },
      ],
    },
  },
  {
    files: ['src/renderer/ui/**/*.vue', 'src/renderer/App.vue'],
    rules: { 'vue/multi-word-component-names': 'off' },
  },
  {
    files: ['**/*.{js,mjs,cjs}'],
    extends: [ts.configs.disableTypeChecked],
    rules: {
      'no-undef': 'off',
      '@typescript-eslint/no-require-imports': 'off',
      '@typescript-eslint/no-extraneous-class': 'off',
      'no-console': 'off',
    },
  },
  prettier,
);
