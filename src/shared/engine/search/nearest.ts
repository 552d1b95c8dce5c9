/** The valid plan that differs least from a broken one. */
import type { Plan } from '../../schema/index.ts';
import { divisorsOf } from '../divisors.ts';
import { layoutFor } from '../layout.ts';
import { planKey } from '../plan.ts';
import type { Problem } from '../problem.ts';
import { firstBrokenRule } from '../rules/index.ts';
import { chunksOf, mostStages } from './space.ts';
import { isPlannedSchedule } from '../pipeline/schedules/index.ts';

/** A factor of two in any degree counts one; dp follows from the others and counts little. */
function distance(from: Plan, to: Plan): number {
  const steps = (a: number, b: number) => Math.abs(Math.log2(a / b));
  return (
    steps(from.tp, to.tp) +
    steps(from.pp, to.pp) +
    steps(from.cp, to.cp) +
    steps(from.ep, to.ep) +
    steps(from.etp, to.etp) +
    steps(from.vpp, to.vpp) +
    steps(from.microBatchSize, to.microBatchSize) +
    0.1 * steps(from.dp, to.dp)
  );
}

/** The plan with everything that this version does not model switched off. */
function modelled(plan: Plan): Plan {
  const isSubgroup = typeof plan.sharding.group === 'object';
  return {
    ...plan,
    sharding: isSubgroup ? { ...plan.sharding, group: plan.cp > 1 ? 'dp-cp' : 'dp' } : plan.sharding,
    recompute: { ...plan.recompute, layersPerStage: null },
    rankOrder: 'tp-cp-ep-dp-pp',
  };
}

/** Degrees to try in place of one that may be too large: its divisors and one, the largest first. */
const smaller = (degree: number): number[] => divisorsOf(degree).reverse();

type Mesh = Pick<Plan, 'tp' | 'cp' | 'ep' | 'etp'>;

/** Every tp, with the plan's cp, ep and etp or smaller ones. */
function meshes({ network }: Problem, plan: Plan): Mesh[] {
  const n = network.numAccelerators;
  const tps = divisorsOf(n).filter((tp) => tp <= Math.max(64, plan.tp));
  return tps.flatMap((tp) =>
    smaller(plan.cp)
      .filter((cp) => n % (tp * cp) === 0)
      .flatMap((cp) => smaller(plan.ep).flatMap((ep) => smaller(plan.etp).map((etp) => ({ tp, cp, ep, etp })))),
  );
}

/**
 * The valid plan nearest to `plan`, or null where the job has none on this cluster. Exhaustive over tp, pp, vpp,
 * micro-batch, and the plan's own or smaller cp, ep and etp; ties go to the smaller key, so the answer is always the same.
 */
export function nearestValidPlan(problem: Problem, plan: Plan): Plan | null {
  const { model, network, workload } = problem;
  const base = modelled(plan);
  let best: { plan: Plan; distance: number } | null = null;
  const consider = (mesh: Mesh, pp: number, vpp: number, microBatchSize: number): void => {
    const { tp, cp } = mesh;
    const dp = network.numAccelerators / (tp * pp * cp);
    const name = vpp > 1 ? 'interleaved-1f1b' : '1f1b';
    const keepsSchedule = isPlannedSchedule(base.schedule.name) && base.schedule.name === name;
    const candidate: Plan = {
      ...base,
      ...mesh,
      pp,
      vpp,
      microBatchSize,
      dp,
      layout: layoutFor(model.numLayers, pp, vpp) ?? null,
      sequenceParallel: base.sequenceParallel && tp > 1 && workload.seqLen % (tp * cp) === 0,
      schedule: keepsSchedule ? { ...base.schedule, groupSize: null } : { name, groupSize: null },
    };
    const far = distance(plan, candidate);
    if (best !== null && (far > best.distance || (far === best.distance && planKey(candidate) >= planKey(best.plan))))
      return;
    if (firstBrokenRule(problem, candidate) === null) best = { plan: candidate, distance: far };
  };
  const batches = divisorsOf(workload.globalBatchSize).filter((size) => size <= Math.max(64, plan.microBatchSize));
  for (const mesh of meshes(problem, plan)) {
    for (const pp of divisorsOf(network.numAccelerators / (mesh.tp * mesh.cp))) {
      if (pp > mostStages(model.numLayers)) break;
      chunksOf(model.numLayers, pp).forEach((vpp) => batches.forEach((size) => consider(mesh, pp, vpp, size)));
    }
  }
  return (best as { plan: Plan } | null)?.plan ?? null;
}
