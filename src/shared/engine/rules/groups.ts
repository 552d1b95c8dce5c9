/** Rules about groups of ranks: sizes that degrees must divide, experts, context parallelism, sharding, recomputed layers. */
import { stackOf } from '../../layer-stack.ts';
import type { Model, Plan } from '../../schema/index.ts';
import { divisorsOf } from '../divisors.ts';
import type { Problem } from '../problem.ts';
import { degreeRule, tpCandidates, type Rule } from './rule.ts';
import { splitSizes, type SplitSize } from '../workload/parts/index.ts';

/** Sizes of the model's layers that a degree must divide, each told in words (workload/parts). */
function sizeRule(
  id: string,
  path: 'tp' | 'ep' | 'etp',
  candidates: (problem: Problem, plan: Plan) => readonly number[],
) {
  return degreeRule(
    id,
    path,
    ({ model }, plan) => {
      const degree = plan[path];
      const sizes = sizesOf(model).filter((size) => size.rule === id && size.over === path);
      const broken = sizes.find(({ size }) => size % degree !== 0);
      return broken === undefined
        ? null
        : `${broken.what} do${broken.what.startsWith('the ') ? 'es' : ''} not divide over ${path} = ${degree}`;
    },
    candidates,
  );
}

const sizes = new WeakMap<Model, SplitSize[]>();

function sizesOf(model: Model): SplitSize[] {
  let list = sizes.get(model);
  if (list === undefined) sizes.set(model, (list = stackOf(model).kinds.flatMap(splitSizes)));
  return list;
}

const hasExperts = (model: Model): boolean => stackOf(model).kinds.some(({ ffn }) => ffn.type === 'moe');

const expertRules: Rule[] = [
  degreeRule(
    'ep-needs-experts',
    'ep',
    ({ model }, { ep }) => (ep > 1 && !hasExperts(model) ? `ep = ${ep}, but the model has no experts` : null),
    () => [1],
  ),
  degreeRule(
    'ep-needs-experts',
    'etp',
    ({ model }, { etp }) => (etp > 1 && !hasExperts(model) ? `etp = ${etp}, but the model has no experts` : null),
    () => [1],
  ),
  sizeRule('experts-divide-ep', 'ep', ({ network }) => divisorsOf(network.numAccelerators)),
  sizeRule('expert-width-divides-etp', 'etp', (_, { tp }) => divisorsOf(tp)),
  degreeRule(
    'expert-mesh',
    'ep',
    (_, { tp, cp, dp, ep, etp }) =>
      (tp * cp * dp) % (ep * etp) === 0
        ? null
        : `ep·etp = ${ep}·${etp} does not divide the tp·cp·dp = ${tp * cp * dp} ranks of a stage`,
    (_, { tp, cp, dp }) => divisorsOf(tp * cp * dp),
  ),
  {
    id: 'experts-need-sequence-parallel',
    path: 'sequenceParallel',
    // Megatron-LM refuses it: without sequence parallelism every tp rank would send the same tokens
    fault: ({ model }, { tp, ep, sequenceParallel }) =>
      hasExperts(model) && tp > 1 && ep > 1 && !sequenceParallel
        ? `experts over ep = ${ep} with tp = ${tp} need sequence parallelism`
        : null,
    candidates: () => [true],
    set: (plan, value) => ({ ...plan, sequenceParallel: value === true }),
  },
];

const contextRules: Rule[] = [
  degreeRule(
    'sequence-divides-cp',
    'cp',
    ({ workload }, { cp, cpMethod }) => {
      if (cp === 1) return null;
      const parts = cpMethod === 'ulysses' ? cp : 2 * cp;
      return workload.seqLen % parts === 0
        ? null
        : `the ${workload.seqLen} tokens of a sequence do not divide into the ${parts} equal parts that cp = ${cp} makes`;
    },
    ({ network }) => divisorsOf(network.numAccelerators),
  ),
  degreeRule(
    'heads-divide-cp',
    'cp',
    ({ model }, { cp, tp, cpMethod }) => {
      if (cp === 1 || cpMethod !== 'ulysses') return null;
      const heads = model.numHeads / tp;
      const kvHeads = Math.max(1, model.numKvHeads / tp);
      if (heads % cp !== 0)
        return `the ${heads} heads of a tp rank do not divide over cp = ${cp}, as Ulysses deals them out`;
      return kvHeads % cp === 0 || cp % kvHeads === 0
        ? null
        : `the ${kvHeads} key/value heads of a tp rank do not divide over cp = ${cp}, as Ulysses deals them out`;
    },
    ({ network }) => divisorsOf(network.numAccelerators),
  ),
];

const shardingRules: Rule[] = [
  {
    id: 'sharding-group-divides',
    path: 'sharding.group',
    fault: (_, plan) => {
      const { group } = plan.sharding;
      if (typeof group !== 'object') return null;
      const replicas = plan.dp * plan.cp;
      return replicas % group.size === 0
        ? null
        : `the sharding group of ${group.size} does not divide the dp·cp = ${replicas} replicas`;
    },
    candidates: () => ['dp'],
    set: (plan) => ({ ...plan, sharding: { ...plan.sharding, group: 'dp' } }),
  },
  {
    id: 'recompute-layers-fit',
    path: 'recompute.layersPerStage',
    fault: ({ model }, { recompute, pp, vpp }) => {
      const { layersPerStage, mode } = recompute;
      if (layersPerStage === null) return null;
      if (mode !== 'full') return `layersPerStage counts layers of full recomputation, but recompute.mode is ${mode}`;
      const most = Math.ceil(model.numLayers / (pp * vpp));
      return layersPerStage <= most ? null : `layersPerStage = ${layersPerStage}, but a stage has ${most} layers`;
    },
    candidates: () => ['null'],
    set: (plan) => ({ ...plan, recompute: { ...plan.recompute, layersPerStage: null } }),
  },
];

const sizeRules: Rule[] = [
  sizeRule('heads-divide-tp', 'tp', tpCandidates),
  // key/value heads: see heads.ts
  sizeRule('ffn-divides-tp', 'tp', tpCandidates),
  sizeRule('groups-divide-tp', 'tp', tpCandidates),
];

export const groupRules: readonly Rule[] = [...sizeRules, ...expertRules, ...contextRules, ...shardingRules];
