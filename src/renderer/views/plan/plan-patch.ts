/** Changes to a plan as dotted paths, the way the address, the command line and fixes write them. Pure. */
import type { Plan, PlanInput } from '#shared/schema/index.ts';
import { omit } from '../../stores/omit.ts';

export type PatchValue = number | string | boolean;
export type PlanPatch = Readonly<Record<string, PatchValue>>;

/** "tp=4,recompute.mode=full"; values hold no commas. */
export function patchText(patch: PlanPatch): string {
  return Object.entries(patch)
    .map(([path, value]) => `${path}=${String(value)}`)
    .join(',');
}

export function parsePatch(text: string): PlanPatch {
  const pairs = text.split(',').flatMap((part) => {
    const place = part.indexOf('=');
    return place > 0 ? [[part.slice(0, place), readValue(part.slice(place + 1))] as const] : [];
  });
  return Object.fromEntries(pairs);
}

function readValue(text: string): PatchValue {
  if (text === 'true' || text === 'false') return text === 'true';
  const value = Number(text);
  return text !== '' && Number.isFinite(value) ? value : text;
}

/** Fields that follow from others and must not hold an old value when those change. */
const followers: Readonly<Record<string, readonly string[]>> = {
  'recompute.mode': ['recompute.modules', 'recompute.layersPerStage'],
  cp: ['sharding.group'],
  vpp: ['schedule.name', 'schedule.groupSize', 'layout'],
  pp: ['schedule.name', 'schedule.groupSize', 'layout'],
};

type Tree = Record<string, unknown>;

function without(tree: Tree, path: string): Tree {
  const [key = '', ...rest] = path.split('.');
  const child = tree[key];
  if (rest.length === 0 || typeof child !== 'object' || child === null) return omit(tree, key);
  return { ...tree, [key]: without(child as Tree, rest.join('.')) };
}
/** An address holds text only: `null`, and modules as `norms+mlp`. */
function valueOf(key: string, value: PatchValue): unknown {
  if (value === 'null') return null;
  return key === 'modules'
    ? String(value)
        .split('+')
        .filter((name) => name !== '')
    : value;
}

function put(tree: Tree, path: string, value: PatchValue): Tree {
  const [key = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...tree, [key]: valueOf(key, value) };
  const child = tree[key];
  return {
    ...tree,
    [key]: put(typeof child === 'object' && child !== null ? (child as Tree) : {}, rest.join('.'), value),
  };
}

/** The plan with the patch applied; dp and what else follows is left to the framework's defaults. */
export function patched(plan: PlanInput, patch: PlanPatch): PlanInput {
  const paths = Object.keys(patch);
  if (paths.length === 0) return plan;
  const tp = patch['tp'];
  // without tensor parallelism there is no sequence parallelism; with it, the default is on
  const isSpOpen = tp !== undefined && (tp === 1 || plan.tp === 1);
  const dropped = [
    'dp',
    ...(isSpOpen ? ['sequenceParallel'] : []),
    ...paths.flatMap((path) => followers[path] ?? []),
  ].filter((path) => !(path in patch));
  const bare = dropped.reduce<Tree>(without, { ...plan });
  return paths.reduce<Tree>((tree, path) => put(tree, path, patch[path] ?? 1), bare);
}

function leaves(value: unknown, prefix = ''): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[prefix, value]];
  return Object.entries(value).flatMap(([key, child]) => leaves(child, prefix === '' ? key : `${prefix}.${key}`));
}

/** The patch that makes `target` of `base`; what follows by itself (dp) is left out. */
export function patchBetween(base: Plan, target: Plan): PlanPatch {
  const old = new Map(leaves(base));
  const changed = leaves(target).filter(
    ([path, value]) => path !== 'dp' && JSON.stringify(old.get(path)) !== JSON.stringify(value),
  );
  return Object.fromEntries(
    changed.flatMap(([path, value]) =>
      typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean' ? [[path, value]] : [],
    ),
  );
}
