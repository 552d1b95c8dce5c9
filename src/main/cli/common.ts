import { InvalidArgumentError } from 'commander';
import { resourcesDir } from '../app-paths.ts';
import { Planner, type PlannerOptions } from '../services/planner.ts';

/** What a command answers: 0 = yes, 1 = the answer is no. Bad input is thrown, and becomes 2. */
export type ExitCode = 0 | 1;

/** Runs `work` with a planner over the shipped catalog and ends its threads afterwards. */
export async function withPlanner<T>(
  options: Omit<PlannerOptions, 'resourcesDir'>,
  work: (planner: Planner) => T | Promise<T>,
): Promise<T> {
  const planner = new Planner({ resourcesDir, ...options });
  try {
    return await work(planner);
  } finally {
    await planner.close();
  }
}

/** A reader of whole numbers from `least` to `most`, for an option's value. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Give a whole number from ${least} to ${most}.`);
  };
}

/** Gathers the values of an option that may be given several times. */
export function gather(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
