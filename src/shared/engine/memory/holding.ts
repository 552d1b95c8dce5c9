/** The stages of a plan as memory asks for them. */
import type { Plan } from '../../schema/index.ts';
import { pipelineShape, type PipelineShape } from '../pipeline/schedules/index.ts';
import type { Problem } from '../problem.ts';
import { residentRanksOf, type RankContent } from '../stages.ts';
import { rankWeights } from '../workload/trained.ts';
import type { StageHolding } from './items.ts';

/** What the items of a stage with this content follow from. */
export function holdingOf(problem: Problem, plan: Plan, rank: RankContent): StageHolding {
  const { trained, frozen } = rankWeights(problem.model, problem.workload.adapters, plan, rank);
  return { problem, plan, rank, held: trained, frozen };
}

/** The plan's pipeline as its schedule sees it. */
export const shapeOf = ({ workload }: Problem, plan: Plan): PipelineShape =>
  pipelineShape(plan, workload.globalBatchSize / (plan.dp * plan.microBatchSize));

/** Contents of every stage of a valid plan. Throws where the layout is none. */
export function residentRanks(problem: Problem, plan: Plan): RankContent[] {
  const ranks = residentRanksOf(problem.model, plan);
  if (ranks === null) throw new Error(`memory of an invalid layout: ${JSON.stringify(plan.layout)}`);
  return ranks;
}
