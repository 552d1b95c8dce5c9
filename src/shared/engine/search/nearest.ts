/** The valid plan that differs least from a broken one. */
import type { Plan } from '../../schema/index.ts';
import { divisorsOf } from '../divisors.ts';
import { layoutFor } from '../layout.ts';
import { planKey } from '../plan.ts';
import type { Problem } from '../problem.ts';
import { firstBrokenRule } from '../rules.ts';
import { chunksOf, mostStages } from './space.ts';
import { isPlannedSchedule } from '../pipeline/schedules/index.ts';

/** A factor of two in any degree counts one; dp follows from the others and counts little. */
function distance(from: Plan, to: Plan): number {
  const steps = (a: number, b: number) => Math.abs(Math.log2(a / b));
  return (
    steps(from.tp, to.tp) +
    steps(from.pp, to.pp) +
    steps(from.vpp, to.vpp) +
    steps(from.microBatchSize, to.microBatchSize) +
    0.1 * steps(from.dp, to.dp)
  );
}

/** The plan with everything that this version does not model switched off. */
function modelled(plan: Plan): Plan {
  return {
    ...plan,
    cp: 1,
    ep: 1,
    etp: 1,
    sharding: { ...plan.sharding, zeroStage: plan.sharding.zeroStage >= 1 ? 1 : 0, group: 'dp' },
    recompute: {
      mode: plan.recompute.mode,
      modules: plan.recompute.mode === 'selective' ? ['core-attention'] : [],
      layersPerStage: null,
    },
    offload: { optimizer: 0, weights: 0, activations: 0 },
    rankOrder: 'tp-cp-ep-dp-pp',
    runtime: { ...plan.runtime, cudaGraphs: 'none' },
  };
}

/**
 * The valid plan nearest to `plan`, or null where the job has none on this cluster. Exhaustive over tp, pp, vpp and
 * micro-batch; ties go to the smaller key, so the answer is always the same.
 */
export function nearestValidPlan(problem: Problem, plan: Plan): Plan | null {
  const { model, network, workload } = problem;
  const base = modelled(plan);
  let best: { plan: Plan; distance: number } | null = null;
  const consider = (tp: number, pp: number, vpp: number, microBatchSize: number): void => {
    const dp = network.numAccelerators / (tp * pp);
    const name = vpp > 1 ? 'interleaved-1f1b' : '1f1b';
    const keepsSchedule = isPlannedSchedule(base.schedule.name) && base.schedule.name === name;
    const candidate: Plan = {
      ...base,
      tp,
      pp,
      vpp,
      microBatchSize,
      dp,
      layout: layoutFor(model.numLayers, pp, vpp) ?? null,
      sequenceParallel: base.sequenceParallel && tp > 1 && workload.seqLen % tp === 0,
      schedule: keepsSchedule ? { ...base.schedule, groupSize: null } : { name, groupSize: null },
    };
    const far = distance(plan, candidate);
    if (best !== null && (far > best.distance || (far === best.distance && planKey(candidate) >= planKey(best.plan))))
      return;
    if (firstBrokenRule(problem, candidate) === null) best = { plan: candidate, distance: far };
  };
  const batches = divisorsOf(workload.globalBatchSize).filter((size) => size <= Math.max(64, plan.microBatchSize));
  for (const tp of divisorsOf(network.numAccelerators)) {
    if (tp > 64 && tp > plan.tp) break;
    for (const pp of divisorsOf(network.numAccelerators / tp)) {
      if (pp > mostStages(model.numLayers)) break;
      chunksOf(model.numLayers, pp).forEach((vpp) => batches.forEach((size) => consider(tp, pp, vpp, size)));
    }
  }
  return (best as { plan: Plan } | null)?.plan ?? null;
}
