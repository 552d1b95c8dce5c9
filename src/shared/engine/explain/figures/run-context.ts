/** What the figures of the whole run share. */
import { wholeRun, type WholeRun } from '../../planning/whole-run.ts';
import { trainedParameters } from '../../workload/trained.ts';
import { figure, input, type FigureContext, type FigureKind } from './types.ts';

export const run = (build: FigureKind['build']): FigureKind => ({ group: 'run', build });

export const tokensPerStep = ({ problem: { workload } }: FigureContext) => workload.globalBatchSize * workload.seqLen;
const steps = (context: FigureContext) => (context.problem.workload.tokens ?? 0) / tokensPerStep(context);
export const stepTime = ({ estimate }: FigureContext) => input('step time', estimate.stepSeconds, 's', 'stepSeconds');

export function runOf(context: FigureContext): WholeRun {
  const { problem, estimate } = context;
  return wholeRun({
    workSeconds: steps(context) * estimate.stepSeconds,
    accelerators: problem.network.numAccelerators,
    parameters: trainedParameters(problem.model, problem.workload.adapters),
    hostBytesPerSecond: problem.host.linkBytesPerSecond,
    writeBytesPerSecond: problem.host.writeBytesPerSecond,
    readBytesPerSecond: problem.host.readBytesPerSecond,
    powerWatts: problem.device.powerWatts,
  });
}

export const NO_TOKENS = 'The job states no tokens, so a run has no end.';
export const hasTokens = ({ problem }: FigureContext): boolean => problem.workload.tokens !== null;

/** A figure of the whole run; null where the job states no tokens. */
export function ofRun(
  head: { label: string; unit: string; source: string; about?: string; formula?: string },
  told: (context: FigureContext, run: WholeRun) => { value: number | null; inputs?: ReturnType<typeof input>[] },
): FigureKind {
  return run((context) => {
    if (!hasTokens(context)) return figure({ ...head, value: null, about: NO_TOKENS });
    return figure({ ...head, ...told(context, runOf(context)) });
  });
}

export const accelerators = ({ problem }: FigureContext) => input('accelerators', problem.network.numAccelerators);
export const failures = (one: WholeRun) =>
  input('mean time between failures', one.failureSeconds, 's', 'meanTimeBetweenFailures');
