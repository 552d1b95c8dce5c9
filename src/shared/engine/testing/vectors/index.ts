/** Which production function answers which vector, and which vectors wait for somebody's work. */
import { computeAnswers } from './compute.ts';
import { kernelAnswers } from './kernels.ts';
import { memoryAnswers } from './memory.ts';
import { networkAnswers } from './network.ts';
import { workloadAnswers } from './parameters.ts';
import { planningAnswers } from './planning.ts';
import { scheduleAnswers } from './schedules.ts';
import { stepAnswers } from './steps.ts';
import type { Answer, Vector } from './vectors.ts';

export { attentionAnswer, collectiveAnswer, matmulAnswer } from './kernels.ts';
export { missOf, relativeError, vectorOf, vectors, type Answer, type Vector } from './vectors.ts';

/** Answered to the vector's tolerance. */
export const exactAnswers: readonly Answer[] = [
  ...workloadAnswers,
  ...memoryAnswers,
  ...computeAnswers,
  ...networkAnswers,
  ...scheduleAnswers,
  ...planningAnswers,
];
/** Answered by fitted curves or whole plans, judged over all their rows. */
export const measuredAnswers: readonly Answer[] = [...kernelAnswers, ...stepAnswers];

/** Not answered yet: whose work it waits for, and why. */
export interface Pending {
  readonly ids: RegExp;
  readonly owner: string;
  readonly why: string;
}

export const pending: readonly Pending[] = [
  {
    ids: /^sc21\.bisection$/,
    owner: 'step',
    why: 'the paper says neither which cut nor over what time the bandwidth is averaged',
  },
];

export function answersOf({ id }: Vector): Answer[] {
  return [...exactAnswers, ...measuredAnswers].filter(({ ids }) => ids.test(id));
}

export const pendingOf = ({ id }: Vector): Pending[] => pending.filter(({ ids }) => ids.test(id));
