/**
 * States and activations that live in host memory: what crosses the host link in a step, and what of it is waited for.
 *
 *   optimizer      gradients down, updated weights up, once per step; the host's Adam moves 24 B per parameter
 *   weights        up before each use: twice per micro-batch
 *   activations    down after forward, up before backward, per micro-batch, beside the compute of the layers
 * Source: MODEL §3.1 (offload: traffic per step at least gradient and weight bytes; CPU Adam bound by host memory, 16–28 B
 * per parameter).
 */
import type { Plan } from '../../schema/index.ts';
import type { Problem } from '../problem.ts';
import { splitOf } from '../split.ts';
import type { RankContent } from '../stages.ts';
import { rankActivationBytes } from '../memory/activations.ts';
import type { RankParameters } from '../workload/parameters.ts';
import { nothing, type Hideable } from './data-parallel.ts';

/** Bytes of host memory that Adam on the host moves per parameter. Source: MODEL §3.1, 16–28. */
const HOST_ADAM_BYTES = 24;
/** Memory bandwidth of a host for one accelerator's share: 8 channels of DDR5-4800 (307 GB/s) over 8. Estimate. */
const HOST_BYTES_PER_SECOND = 38e9;

interface Load {
  numMicroBatches: number;
  forwardSeconds: number;
  backwardSeconds: number;
  /** What the rank waits for other ranks; the host link works on meanwhile. */
  waitedSeconds: number;
  rank: RankContent | null;
  /** Parameters that the rank holds without training them. */
  frozenParameters: number;
}

/** Offload traffic of one rank in a step. */
export function offloadCost(problem: Problem, plan: Plan, held: RankParameters, load: Load): Hideable {
  const { optimizer, weights, activations } = plan.offload;
  if (optimizer === 0 && weights === 0 && activations === 0) return nothing;
  const { linkBytesPerSecond: hostBytesPerSecond } = problem.host;
  const { gradientBytesPerParameter: g, weightBytesPerParameter: w } = problem.workload;
  const split = splitOf(plan);
  const sharded = held.dense / split.denseShards + held.experts / split.expertShards;
  const onHost = sharded * optimizer;
  const stateBytes = onHost * (g + w);
  const stateSeconds = stateBytes / hostBytesPerSecond + (onHost * HOST_ADAM_BYTES) / HOST_BYTES_PER_SECOND;
  const weightBytes = (held.dense + held.experts + load.frozenParameters) * weights * w * 2 * load.numMicroBatches;
  const perMicroBatch = load.rank === null ? 0 : rankActivationBytes(problem, plan, load.rank) * activations;
  const activationBytes = 2 * perMicroBatch * load.numMicroBatches;
  const compute = (load.forwardSeconds + load.backwardSeconds) * load.numMicroBatches + load.waitedSeconds;
  const streamed = (weightBytes + activationBytes) / hostBytesPerSecond;
  return {
    totalSeconds: stateSeconds + streamed,
    exposedSeconds: stateSeconds + Math.max(0, streamed - compute),
    perMicroBatchSeconds: 0,
    bytes: stateBytes + weightBytes + activationBytes,
  };
}
