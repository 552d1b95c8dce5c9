/**
 * The plan space of a problem: which values each dimension of a plan takes, and the plans that they span.
 *
 * The outer dimensions (tp, cp, ep, etp, pp, vpp, micro-batch) depend on one another and on the cluster; the inner ones
 * (recomputation, optimizer sharding, sequence parallelism, and any other pinned field) are a plain product. Values that
 * break a rule are in the space: they are covered, counted by the rule that rules them out, and never evaluated.
 */
import type { Plan, PlanInput } from '../../schema/index.ts';
import { stackOf } from '../../layer-stack.ts';
import { divisorsOf } from '../divisors.ts';
import { layoutFor } from '../layout.ts';
import { completePlan, valueAt } from '../plan.ts';
import type { Problem } from '../problem.ts';

export type Value = number | string | boolean;

/** One point of the outer dimensions. */
export interface Outer {
  tp: number;
  cp: number;
  ep: number;
  etp: number;
  pp: number;
  vpp: number;
  microBatchSize: number;
}

export interface Space {
  outer: Outer[];
  /** Plans with every inner combination, completed with the framework's defaults; outer fields are to be replaced. */
  templates: Plan[];
  size: number;
}

const MAX_MICRO_BATCH = 16;
/** Tensor parallelism beyond this cuts matmuls below a tile, whatever the domain's size (NVL72, TPU pods). */
const MAX_TP = 64;
/** Paths that the outer loops span. */
const OUTER_PATHS = new Set(['tp', 'cp', 'ep', 'etp', 'pp', 'vpp', 'microBatchSize']);
/** Paths that follow from the outer ones; a pin on them filters. */
const DERIVED_PATHS = new Set(['dp', 'schedule.name']);

function withValue(input: PlanInput, path: string, value: Value): PlanInput {
  const [head = '', rest] = path.split('.', 2);
  if (rest === undefined) return { ...input, [head]: value };
  const group = (input as Record<string, object | undefined>)[head] ?? {};
  return { ...input, [head]: { ...group, [rest]: value } };
}

function pinnedNumbers(problem: Problem, path: string): number[] | null {
  const pinned = problem.constraints.pin[path];
  if (pinned === undefined) return null;
  return [...new Set(pinned.map(Number))].filter((value) => Number.isInteger(value) && value > 0);
}

/** Most pipeline stages that a model can fill: one per layer, and one each for embedding and head. */
export const mostStages = (numLayers: number): number => numLayers + 2;

/** Chunks per rank that hold all layers, evenly or with embedding and head counted as layers. */
export function chunksOf(numLayers: number, pp: number): number[] {
  if (pp === 1) return [1];
  const chunks = [numLayers, numLayers + 2]
    .filter((units) => units % pp === 0)
    .flatMap((units) => divisorsOf(units / pp));
  return chunks.length === 0 ? [1] : [...new Set(chunks)].sort((a, b) => a - b);
}

/** Tokens of a sequence below which it is not cut further: a rank's chunk would be shorter than any model is trained on. */
const LEAST_TOKENS_PER_CP_RANK = 4096;

/** Degrees of context parallelism: those that leave each rank at least a few thousand tokens. */
function contextDegrees({ workload, network }: Problem, pinned: number[] | null): number[] {
  const most = Math.max(1, Math.floor(workload.seqLen / LEAST_TOKENS_PER_CP_RANK));
  return pinned ?? divisorsOf(network.numAccelerators).filter((cp) => cp <= most);
}

/** Expert meshes (ep, etp) of a model: every ep that divides its experts, etp 1 or tp. */
function expertMeshes(problem: Problem, tp: number): { ep: number; etp: number }[] {
  const counts = stackOf(problem.model).kinds.flatMap(({ ffn }) => (ffn.type === 'moe' ? [ffn.numExperts] : []));
  const isDense = counts.length === 0;
  const eps = pinnedNumbers(problem, 'ep') ?? (isDense ? [1] : divisorsOf(counts[0] ?? 1));
  const etps = pinnedNumbers(problem, 'etp') ?? (isDense || tp === 1 ? [1] : [1, tp]);
  return eps.flatMap((ep) => etps.map((etp) => ({ ep, etp })));
}

function outerOf(problem: Problem): Outer[] {
  const { model, network, workload } = problem;
  const n = network.numAccelerators;
  // within a node at least, where the scale-up links join fewer than its accelerators
  const mostTp = Math.max(Math.min(network.scaleUpDomainSize, MAX_TP), network.acceleratorsPerNode);
  const tps = pinnedNumbers(problem, 'tp') ?? divisorsOf(n).filter((tp) => tp <= mostTp);
  const cps = contextDegrees(problem, pinnedNumbers(problem, 'cp'));
  const batches = divisorsOf(workload.globalBatchSize).filter((size) => size <= MAX_MICRO_BATCH);
  const powers = [1, 2, 4, 8, 16].filter((size) => size <= workload.globalBatchSize);
  const microBatches =
    pinnedNumbers(problem, 'microBatchSize') ?? [...new Set([...batches, ...powers])].sort((a, b) => a - b);
  const pipelines = (ranks: number) =>
    pinnedNumbers(problem, 'pp') ?? divisorsOf(Math.floor(n / ranks)).filter((pp) => pp <= mostStages(model.numLayers));
  const chunks = (pp: number) => pinnedNumbers(problem, 'vpp') ?? chunksOf(model.numLayers, pp);
  return tps.flatMap((tp) =>
    cps.flatMap((cp) =>
      expertMeshes(problem, tp).flatMap((mesh) =>
        pipelines(tp * cp).flatMap((pp) =>
          chunks(pp).flatMap((vpp) =>
            microBatches.map((microBatchSize) => ({ tp, cp, ...mesh, pp, vpp, microBatchSize })),
          ),
        ),
      ),
    ),
  );
}

/** Inner dimensions with their values; a pin replaces them, and a pin on any other field adds a dimension. */
function innerDimensions(problem: Problem): [string, readonly Value[]][] {
  const defaults: Record<string, readonly Value[]> = {
    'recompute.mode': ['none', 'selective', 'full'],
    'sharding.zeroStage': [0, 1],
    sequenceParallel: [false, true],
  };
  const pinned = Object.entries(problem.constraints.pin).filter(
    ([path]) => !OUTER_PATHS.has(path) && !DERIVED_PATHS.has(path),
  );
  const once = pinned.map(([path, values]) => [path, [...new Set(values)]] as const);
  return Object.entries({ ...defaults, ...Object.fromEntries(once) });
}

/** Every plan of the problem's space, by its parts. */
export function spaceOf(problem: Problem): Space {
  let inputs: PlanInput[] = [{}];
  for (const [path, values] of innerDimensions(problem))
    inputs = inputs.flatMap((input) => values.map((value) => withValue(input, path, value)));
  const templates = inputs.map((input) => completePlan(problem, input));
  const outer =
    problem.constraints.maxAccelerators !== null &&
    problem.network.numAccelerators > problem.constraints.maxAccelerators
      ? []
      : outerOf(problem);
  return { outer, templates, size: outer.length * templates.length };
}

/** A template at one outer point. */
export function planAt(problem: Problem, template: Plan, outer: Outer): Plan {
  const { tp, cp, pp, vpp } = outer;
  return {
    ...template,
    ...outer,
    dp: Math.max(1, Math.floor(problem.network.numAccelerators / (tp * pp * cp))),
    // unless somebody chose otherwise, states are sharded over the cp ranks too
    sharding:
      cp > 1 && problem.constraints.pin['sharding.group'] === undefined
        ? { ...template.sharding, group: 'dp-cp' }
        : template.sharding,
    schedule: { name: vpp > 1 ? 'interleaved-1f1b' : '1f1b', groupSize: template.schedule.groupSize },
    layout: template.layout ?? layoutFor(problem.model.numLayers, pp, vpp) ?? null,
  };
}

/** Why the constraints rule a plan out: 'pinned' or 'excluded'; null where they do not. */
export function constraintFault(problem: Problem, plan: Plan): 'pinned' | 'excluded' | null {
  const { pin, exclude } = problem.constraints;
  for (const path in pin) if (!pin[path]?.some((value) => value === valueAt(plan, path))) return 'pinned';
  for (const path in exclude) if (exclude[path]?.some((value) => value === valueAt(plan, path))) return 'excluded';
  return null;
}
