/** Which family each rule holds for, and what must be known to ask it. A rule that says so itself is not listed here. */
import type { Fact } from '../../schema/facts.ts';
import type { Problem } from '../problem.ts';
import type { Consequence, Rule, RuleFamily } from './rule.ts';

interface Scope {
  families?: readonly RuleFamily[];
  needs?: readonly Fact[];
}

const training: readonly RuleFamily[] = ['megatron-lm', 'fsdp', 'deepspeed'];
const everywhere: readonly RuleFamily[] = [...training, 'serving', 'other'];
const megatron: readonly RuleFamily[] = ['megatron-lm'];
/** Expert groups folded over tensor, context and data parallelism; DeepSpeed cuts them out of data parallelism alone. */
const folding: readonly RuleFamily[] = ['megatron-lm', 'fsdp'];

const scopes: Readonly<Record<string, Scope>> = {
  'degrees-divide-cluster': { families: everywhere, needs: ['cluster.numAccelerators'] },
  'world-size': { families: everywhere, needs: ['cluster.numAccelerators', 'plan.dp'] },
  'heads-divide-tp': { needs: ['model.numHeads'] },
  'ffn-divides-tp': { needs: ['model.ffnHiddenSize'] },
  'groups-divide-tp': { needs: ['model.headDim'] },
  'sequence-divides-tp': { needs: ['job.seqLen', 'plan.sequenceParallel'] },
  'sequence-divides-cp': { needs: ['job.seqLen'] },
  'heads-divide-cp': { needs: ['model.numHeads', 'model.numKvHeads'] },
  'ep-needs-experts': { needs: ['model.moe'] },
  'experts-divide-ep': { needs: ['model.moe'] },
  'expert-width-divides-etp': { needs: ['model.headDim'] },
  'expert-mesh': { families: folding, needs: ['cluster.numAccelerators'] },
  'experts-need-sequence-parallel': { families: megatron, needs: ['model.moe', 'plan.sequenceParallel'] },
  // the others deal layers out unevenly by themselves
  'layers-divide-pp': { families: megatron, needs: ['model.numLayers'] },
  'layers-divide-vpp': { families: megatron, needs: ['model.numLayers'] },
  'layout-fits': { needs: ['model.numLayers'] },
  'batch-divides': { needs: ['job.globalBatchSize', 'plan.microBatchSize', 'plan.dp'] },
  'interleaving-divides-batch': { families: megatron, needs: ['plan.numMicroBatches'] },
  'schedule-needs-micro-batches': { needs: ['plan.numMicroBatches'] },
  'recompute-layers-fit': { needs: ['model.numLayers'] },
};

const familiesOf = (rule: Rule): readonly RuleFamily[] => rule.families ?? scopes[rule.id]?.families ?? training;

const byFamily = new WeakMap<readonly Rule[], Map<RuleFamily, readonly Rule[]>>();

/** The rules that hold for a family; remembered, because a search asks for every plan. */
export function rulesFor(rules: readonly Rule[], family: RuleFamily): readonly Rule[] {
  let families = byFamily.get(rules);
  if (families === undefined) byFamily.set(rules, (families = new Map<RuleFamily, readonly Rule[]>()));
  let list = families.get(family);
  if (list === undefined) families.set(family, (list = rules.filter((rule) => familiesOf(rule).includes(family))));
  return list;
}

/** Whether everything that a rule looks at is known. */
export function isKnown(rule: Rule, known: ReadonlySet<Fact>): boolean {
  return (rule.needs ?? scopes[rule.id]?.needs ?? []).every((fact) => known.has(fact));
}

/** Megatron-LM divided layers by whole numbers and dropped the rest until its checks came (Megatron-LM#468, #1303, #1304). */
const FIRST_YEAR_OF_LAYER_CHECKS = 2023;

/** What a framework does with a plan that breaks a rule. */
export function consequenceOf({ workload }: Problem, rule: Rule): Consequence {
  if (rule.consequence !== undefined) return rule.consequence;
  const losesLayers = rule.id === 'layers-divide-pp' || rule.id === 'layers-divide-vpp';
  return losesLayers && workload.stackYear < FIRST_YEAR_OF_LAYER_CHECKS ? 'loses-layers' : 'refused';
}
