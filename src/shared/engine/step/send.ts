/** What travels between neighbouring stages. Source: MODEL §5.3 (pipeline). */
import type { Plan } from '../../schema/index.ts';
import { groupSeconds, groupsOf, neighbourSeconds, type Links } from '../network/index.ts';
import type { Problem } from '../problem.ts';

/** One send between stages: what it carries and how long it takes. */
export function sendCost(problem: Problem, links: Links, plan: Plan): { bytes: number; seconds: number } {
  const { model, workload } = problem;
  const boundaryBytes = 2 * (workload.seqLen / plan.cp) * plan.microBatchSize * model.hiddenSize;
  // sequence parallelism sends the rank's own part; without it the scatter/gather optimisation does
  // (Narayanan et al. SC'21 §4.1)
  const isShared = plan.sequenceParallel || plan.runtime.scatterGather;
  const bytes = isShared ? boundaryBytes / plan.tp : boundaryBytes;
  if (plan.pp === 1) return { bytes, seconds: 0 };
  const groups = groupsOf(problem, plan);
  const regather = plan.sequenceParallel || !isShared ? 0 : groupSeconds(links, 'allGather', groups.tp, boundaryBytes);
  return { bytes, seconds: neighbourSeconds(links, bytes, groups.pp) + regather };
}
