/** The waterfall from the ideal to the step time: how much each kind of loss costs, and what would shrink it. */
import type { Plan, WaterfallStep } from '../../schema/index.ts';
import type { Problem } from '../problem.ts';
import { onceSeconds, type StepCost } from '../step/index.ts';
import { stepFlops } from '../summary.ts';
import type { LayerCost, OperatorKind, ShareName } from '../workload/operators.ts';

/** Losses in the order of the waterfall, each with what it is and what would shrink it. */
const losses = {
  kernels: {
    label: 'Kernels below peak',
    why: 'Matmuls and attention run below the dense peak; larger micro-batches or a smaller tp make their shapes better.',
  },
  casts: {
    label: 'Casts to fewer bits',
    why: 'Inputs of matmuls are cast to fp8 or fp4 first; larger matmuls cast less for what they gain.',
  },
  recompute: {
    label: 'Recomputation',
    why: 'Forward work repeated in backward to save memory; a lighter mode saves it if memory allows.',
  },
  elementwise: {
    label: 'Element-wise kernels',
    why: 'Norms, activations, dropout and residuals are bound by memory bandwidth; sequence parallelism splits part of them.',
  },
  accumulation: {
    label: 'Weight-gradient accumulation',
    why: 'Each micro-batch adds its gradients to their sum in memory; larger micro-batches are fewer.',
  },
  tensorParallel: {
    label: 'Tensor-parallel communication',
    why: 'Activations summed over the tp group in every layer; a smaller tp or overlap reduces it.',
  },
  contextParallel: {
    label: 'Context-parallel communication',
    why: 'Keys and values of other parts of the sequence, as far as attention does not hide them; a smaller cp reduces it.',
  },
  experts: {
    label: 'Expert communication',
    why: 'Tokens sent to the ranks of their experts and back; a smaller ep, or one inside a domain, reduces it.',
  },
  unevenExperts: {
    label: 'Uneven experts',
    why: 'The rank whose experts get most tokens works longest and the others wait for it; balanced routing reduces it.',
  },
  host: {
    label: 'Host time',
    why: 'The device waits for its host to start kernels; larger micro-batches or CUDA graphs reduce it.',
  },
  imbalance: {
    label: 'Stage imbalance',
    why: 'The stage with the head (or embedding) works longer and the others wait for it.',
  },
  bubble: {
    label: 'Pipeline bubble',
    why: 'Ranks idle while the pipeline fills and drains; more micro-batches per pipeline or interleaving shrink it.',
  },
  sends: { label: 'Pipeline sends', why: 'Ranks wait for activations of the neighbouring stage.' },
  dataParallel: {
    label: 'Data-parallel communication',
    why: 'Gradients reduced and weights gathered over dp, as far as backward and forward do not hide it.',
  },
  embedding: {
    label: 'Tied-embedding exchange',
    why: 'First and last stage sum the gradients of the matrix that both hold.',
  },
  offload: {
    label: 'Offload to the host',
    why: 'States and activations cross the host link; offload less, or only what memory needs.',
  },
  optimizer: {
    label: 'Optimizer',
    why: 'Adam reads and writes every state once; the distributed optimizer divides it by dp.',
  },
  fixed: { label: 'Fixed time per step', why: 'Data loading, loss and norm synchronisation, logging.' },
} as const;

/** Layers of each kind in the whole model. */
function layersOfKind(cost: StepCost): number[] {
  return cost.kinds.map((_, kind) => cost.ranks.reduce((sum, { counts }) => sum + (counts[kind] ?? 0), 0));
}

/** Seconds of operators on the mean stage: 1/pp of all layers and of the two ends. */
function meanSeconds(cost: StepCost, numLayers: readonly number[], pp: number): (of: Of) => number {
  const both = (part: StepCost['head'], { kind, groups }: Of) => {
    if (groups === undefined) return part.forward[kind] + part.backward[kind];
    return part.operators.reduce((sum, operator) => {
      const isOne = operator.kind === kind && groups.includes(operator.group ?? 'tp');
      return isOne ? sum + operator.forwardSeconds + operator.backwardSeconds : sum;
    }, 0);
  };
  return (of) => {
    const layers = cost.kinds.reduce((sum, one, index) => sum + (numLayers[index] ?? 0) * both(one.cost, of), 0);
    return (cost.numMicroBatches / pp) * (layers + both(cost.embedding, of) + both(cost.head, of));
  };
}

/** Seconds of a share of operators on the mean stage. */
function meanShare(cost: StepCost, numLayers: readonly number[], pp: number) {
  return (name: ShareName, kind: OperatorKind): number => {
    const of = ({ shares }: LayerCost) => shares[name][kind];
    const layers = cost.kinds.reduce((sum, one, index) => sum + (numLayers[index] ?? 0) * of(one.cost), 0);
    return (cost.numMicroBatches / pp) * (layers + of(cost.embedding) + of(cost.head));
  };
}

interface Of {
  kind: OperatorKind;
  /** Of communications only those over these groups. */
  groups?: readonly string[];
}

/** Layers that recomputation touches, by kind, over all ranks. */
function recomputedLayers(cost: StepCost, kind: number): number {
  return cost.ranks.reduce((sum, { counts }, rank) => sum + (counts[kind] ?? 0) * (cost.recomputedShare[rank] ?? 0), 0);
}

/**
 * From the ideal to the step time. Work is taken as the mean over stages, and what the slowest stage has beyond the mean
 * is imbalance; so the steps add up to stepSeconds.
 */
export function waterfallOf(problem: Problem, plan: Plan, cost: StepCost): WaterfallStep[] {
  const flops = stepFlops(problem, plan);
  const ideal = flops.model / flops.peakPerSecond;
  const numLayers = layersOfKind(cost);
  const mean = meanSeconds(cost, numLayers, plan.pp);
  const share = meanShare(cost, numLayers, plan.pp);
  const perStage = cost.numMicroBatches / plan.pp;
  const mtp = perStage * problem.model.mtpLayers * cost.mtpSeconds;
  // what multi-token prediction takes beyond its matmuls is small and stands with them
  const arithmetic = mean({ kind: 'matmul' }) + mean({ kind: 'attention' }) + mtp;
  const waits = perStage * cost.shardWaits.reduce((sum, wait) => sum + wait, 0);
  const recompute =
    perStage * cost.kinds.reduce((sum, kind, index) => sum + recomputedLayers(cost, index) * kind.recomputeSeconds, 0);
  const host = perStage * cost.hostWaits.reduce((sum, wait) => sum + wait, 0);
  const meanWork =
    arithmetic + mean({ kind: 'elementwise' }) + mean({ kind: 'communication' }) + recompute + host + waits;
  const seconds: Record<keyof typeof losses, number> = {
    kernels: arithmetic - ideal - share('casts', 'matmul') - share('uneven', 'matmul'),
    casts: share('casts', 'matmul'),
    recompute,
    elementwise: mean({ kind: 'elementwise' }) - share('accumulation', 'elementwise') - share('uneven', 'elementwise'),
    accumulation: share('accumulation', 'elementwise'),
    tensorParallel: mean({ kind: 'communication', groups: ['tp'] }),
    contextParallel: mean({ kind: 'communication', groups: ['cp'] }),
    experts: mean({ kind: 'communication', groups: ['ep', 'etp'] }) - share('uneven', 'communication'),
    unevenExperts: share('uneven', 'matmul') + share('uneven', 'elementwise') + share('uneven', 'communication'),
    host,
    imbalance: cost.pipeline.busy - meanWork,
    bubble: cost.pipeline.bubble,
    sends: cost.pipeline.sends,
    dataParallel:
      waits +
      [cost.gradReduce, cost.paramGather, cost.expertGradReduce, cost.expertParamGather].reduce(
        (sum, one) => sum + onceSeconds(one, cost.numMicroBatches),
        0,
      ),
    embedding: cost.embeddingExchange.exposedSeconds,
    offload: cost.offload.exposedSeconds,
    optimizer: cost.optimizerSeconds,
    fixed: cost.overheadSeconds,
  };
  const why = 'The model’s FLOPs at the dense peak of every accelerator. No plan can be faster.';
  const steps: WaterfallStep[] = [{ label: 'Ideal', seconds: ideal, kind: 'ideal', why }];
  for (const [name, loss] of Object.entries(losses)) {
    const lost = seconds[name as keyof typeof losses];
    if (Math.abs(lost) > 1e-12) steps.push({ ...loss, seconds: lost, kind: 'loss' });
  }
  return steps;
}
