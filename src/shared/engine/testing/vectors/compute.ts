/** Section 4: compute. Measured kernels are in kernels.ts, whole steps in steps.ts. */
import { ridgeIntensity, tileWaves } from '../../kernels/index.ts';
import { layersFlops, recomputedFlops } from '../../workload/flops.ts';
import { ADAM_STEP_BYTES, adamSeconds } from '../../workload/optimizer.ts';
import { smallModel } from '../problems.ts';
import { numbersOf, type Answer } from './vectors.ts';

/** Passes over the layers with everything recomputed ÷ without. */
function fullRecomputeFactor(): number {
  const { linear, core } = layersFlops(smallModel, 1024);
  const layers = 3 * (linear + core);
  return (
    (layers +
      recomputedFlops(
        smallModel,
        { seqLen: 1024, numTokens: 1 },
        { mode: 'full', modules: [], layersPerStage: null },
      )) /
    layers
  );
}

/** Bandwidth that the vector's optimizer step takes: 0.8 of an H100's. */
const OPTIMIZER_BYTES_PER_SECOND = 3.35e12 * 0.8;

export const computeAnswers: readonly Answer[] = [
  {
    ids: /^wave\./,
    by: 'tileWaves',
    value: (vector) => {
      const { M = 1, N = 1, Tm = 1, Tn = 1, SM = 1 } = numbersOf(vector);
      const { tiles, waves, efficiency } = tileWaves({ m: M, n: N }, [Tm, Tn], SM);
      return [tiles, waves, efficiency];
    },
  },
  {
    ids: /^ridge\./,
    by: 'ridgeIntensity',
    value: (vector) => {
      const { peak = 1, bw = 1 } = numbersOf(vector);
      return ridgeIntensity({ peakFlopsPerSecond: peak, memoryBytesPerSecond: bw });
    },
  },
  { ids: /^adam\.bytes$/, by: 'ADAM_STEP_BYTES', value: () => ADAM_STEP_BYTES },
  {
    ids: /^opt\.time\./,
    by: 'adamSeconds',
    value: (vector) => {
      const { P = 1, d = 1 } = numbersOf(vector);
      return adamSeconds(P, d, OPTIMIZER_BYTES_PER_SECOND);
    },
  },
  { ids: /^recompute\.full$/, by: 'recomputedFlops, layersFlops', value: fullRecomputeFactor },
];
