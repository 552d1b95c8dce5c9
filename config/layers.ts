/**
 * Who may import whom. ESLint turns each row into a rule for bare and aliased imports, and
 * src/architecture.test.ts checks the same rows against the files that the imports resolve to.
 * A file belongs to the longest path that it starts with; tests are free to import what they check.
 */
export interface Layer {
  /** A folder or file, from the repository root. */
  readonly path: string;
  /** Layers whose code it may run. A layer may always import itself. */
  readonly uses: readonly string[];
  /** Layers it may take types from, beyond `uses`. */
  readonly types?: readonly string[];
  /** npm packages by name; `node:` stands for every built-in module. */
  readonly packages?: readonly string[];
}

const units = 'src/shared/units.ts';
const errors = 'src/shared/errors.ts';
const schema = 'src/shared/schema';
const stack = 'src/shared/layer-stack.ts';
const closest = 'src/shared/closest.ts';
const engine = 'src/shared/engine';
const formats = 'src/shared/formats';
const contract = 'src/shared/contract.ts';
const paths = 'src/main/app-paths.ts';
const db = 'src/main/db';
const jobs = 'src/main/jobs';
const services = 'src/main/services';
const server = 'src/main/server';
const csp = 'src/main/csp.ts';
const ui = 'src/renderer/ui';
const charts = 'src/renderer/charts';
const stores = 'src/renderer/stores';
const client = 'src/renderer/client.ts';
const pageShared = [contract, schema, units, errors];

export const layers: readonly Layer[] = [
  { path: units, uses: [] },
  { path: errors, uses: [] },
  { path: closest, uses: [] },
  { path: stack, uses: [], types: [schema] },
  { path: schema, uses: [units, errors, stack, closest], packages: ['zod'] },
  { path: engine, uses: [units, errors, stack], types: [schema] },
  // helpers of tests: nothing but tests may import them
  { path: `${engine}/testing`, uses: [engine, schema, stack, units, errors], packages: ['node:', 'fast-check'] },
  { path: formats, uses: [schema, stack, units, errors, closest], packages: ['zod', 'yaml', 'smol-toml'] },
  { path: contract, uses: [schema, errors], packages: ['zod'] },

  { path: paths, uses: [], packages: ['node:'] },
  { path: csp, uses: [] },
  { path: db, uses: [schema, errors], packages: ['node:', 'better-sqlite3', 'zod'] },
  { path: jobs, uses: [engine, schema, errors, units], types: [contract], packages: ['node:'] },
  {
    path: services,
    uses: [db, jobs, formats, schema, contract, errors, units, closest],
    types: [engine],
    packages: ['node:', 'zod'],
  },
  { path: 'src/main/electron', uses: [services, contract, errors, paths], packages: ['node:', 'electron'] },
  { path: server, uses: [services, contract, errors, paths, csp], packages: ['node:'] },
  {
    path: 'src/main/cli',
    uses: [services, contract, errors, units, paths, server],
    types: [schema],
    packages: ['node:', 'commander', 'zod'],
  },

  { path: ui, uses: [], packages: ['vue', 'reka-ui', 'lucide-vue-next', '@vueuse/core'] },
  { path: charts, uses: [units, ui], types: [schema], packages: ['vue', 'echarts', 'vue-echarts', '@vueuse/core'] },
  { path: client, uses: pageShared, packages: ['vue'] },
  { path: stores, uses: [client, ...pageShared], packages: ['vue', 'pinia', '@vueuse/core'] },
  {
    path: 'src/renderer',
    uses: [ui, charts, client, stores, ...pageShared],
    packages: ['vue', 'vue-router', 'pinia', 'reka-ui', 'lucide-vue-next', '@vueuse/core', 'zod'],
  },
];

/** The layer that a file (path from the root, with `/`) belongs to, or undefined where no row covers it. */
export function layerOf(file: string): Layer | undefined {
  return layers
    .filter(({ path }) => file === path || file.startsWith(`${path}/`))
    .sort((a, b) => b.path.length - a.path.length)[0];
}
