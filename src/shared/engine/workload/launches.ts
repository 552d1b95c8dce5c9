/**
 * What the host does for a layer: it starts every kernel, one after the other, ahead of the device. A layer whose kernels are
 * shorter than that waits for the host.
 *
 *   launches of an operator (forward | backward): a matmul 1 | 2, flash attention 1 | 2, an element-wise operator its
 *   kernels, a communication 1 | 1 and two with sequence parallelism; mixtures of experts name their own (parts/moe.ts)
 *   host       = launches · hostLaunchSeconds
 *   waited for = (device⁴ + host⁴)^¼ − device    of each stretch that the host starts without stopping
 *
 * The power mean lets the two limits meet softly: kernels are of different lengths, so that near the crossing some wait and
 * some do not (chosen; exact far from it). CUDA graphs: `per-layer` start all but what depends on how many tokens each
 * expert gets, `full` everything. Source: MODEL §4.4.
 */
import type { Plan } from '../../schema/index.ts';

/** Kernels that the host starts for an operator. */
export interface Launches {
  forward: number;
  backward: number;
}

/** What of an operator the host and the device have to do. */
export interface Started {
  kind: 'matmul' | 'attention' | 'elementwise' | 'communication';
  forwardSeconds: number;
  backwardSeconds: number;
  launches?: Launches;
  isLoose?: boolean;
}

const SHARPNESS = 4;

const usual: Readonly<Record<Started['kind'], Launches>> = {
  matmul: { forward: 1, backward: 2 },
  attention: { forward: 1, backward: 2 },
  elementwise: { forward: 1, backward: 1 },
  communication: { forward: 1, backward: 1 },
};

/** Launches of one operator. */
export const launchesOf = ({ kind, launches }: Pick<Started, 'kind' | 'launches'>): Launches => launches ?? usual[kind];

/** One stretch of a layer that the host starts without stopping: how long the device works on it, and its launches. */
export interface Stretch {
  forwardSeconds: number;
  backwardSeconds: number;
  launches: Launches;
}

/** The stretch of the operators that are loose, or of the others. */
export function stretchOf(operators: readonly Started[], isLoose: boolean): Stretch {
  const stretch = { forwardSeconds: 0, backwardSeconds: 0, launches: { forward: 0, backward: 0 } };
  for (const operator of operators) {
    if ((operator.isLoose === true) !== isLoose) continue;
    const { forward, backward } = launchesOf(operator);
    stretch.forwardSeconds += operator.forwardSeconds;
    stretch.backwardSeconds += operator.backwardSeconds;
    stretch.launches.forward += forward;
    stretch.launches.backward += backward;
  }
  return stretch;
}

/** Seconds that work of so many seconds on the device waits for a host that needs `hostSeconds` to start it. */
export function hostWait(deviceSeconds: number, hostSeconds: number): number {
  if (hostSeconds === 0 || deviceSeconds === 0) return hostSeconds;
  const ratio = (hostSeconds / deviceSeconds) ** SHARPNESS;
  return deviceSeconds * ((1 + ratio) ** (1 / SHARPNESS) - 1);
}

export interface HostWait {
  forwardSeconds: number;
  backwardSeconds: number;
}

const none: HostWait = { forwardSeconds: 0, backwardSeconds: 0 };

/** What a layer asks of the host under a plan, `repeated` of its forward computed again in backward. */
export interface HostLoad {
  plan: Plan;
  repeated: number;
  secondsPerLaunch: number;
}

/**
 * Seconds per micro-batch that one layer waits for its host. What depends on the routed tokens is a stretch of its own: the
 * host waits for their counts before it can go on.
 */
export function layerHostWait(
  layer: { steady: Stretch; loose: Stretch },
  { plan, repeated, secondsPerLaunch }: HostLoad,
): HostWait {
  const graphs = plan.runtime.cudaGraphs;
  if (graphs === 'full') return none;
  const wait = { forwardSeconds: 0, backwardSeconds: 0 };
  const add = ({ forwardSeconds, backwardSeconds, launches }: Stretch) => {
    wait.forwardSeconds += hostWait(forwardSeconds, launches.forward * secondsPerLaunch);
    const again = launches.backward + repeated * launches.forward;
    wait.backwardSeconds += hostWait(backwardSeconds + repeated * forwardSeconds, again * secondsPerLaunch);
  };
  if (graphs === 'none') add(layer.steady);
  if (layer.loose.launches.forward > 0) add(layer.loose);
  return wait;
}
