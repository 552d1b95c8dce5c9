/**
 * Mixture of experts: a router picks K of E experts for each token; tokens travel to the ranks that hold their experts
 * (dispatch), pass a grouped matmul there and travel back (combine). Shared experts serve every token.
 * Legend: T tokens of the micro-batch on one rank, h hidden (or the latent that experts act on), f expert width,
 * imb = rows of the fullest expert-parallel rank ÷ their mean, t = tp.
 * Source: MODEL §1, §2.1, §3.4 (MoE), §4.1 (grouped matmul), §5.3 (expert parallelism).
 */
import type { FfnOf } from '../../../schema/index.ts';
import { inHalf, weightGradientTime } from '../../compute.ts';
import { groupSeconds, type Group } from '../../network/index.ts';
import { explainCollective } from '../explanation.ts';
import { activationBytes, timesElements } from '../fusion.ts';
import type { Launches } from '../launches.ts';
import { blockCollectives, elementwise, gradientAccumulation, matmul } from '../operators.ts';
import type { LayerContext, Operator } from '../operators.ts';
import { numMatrices } from './dense-ffn.ts';
import type { ActivationTensor, ModelShape, Part, PartParameters } from './types.ts';
import { inDigits } from './words.ts';

type Moe = FfnOf<'moe'>;

const SHARED = ['moe', 'shared-experts'] as const;

/**
 * Kernels that the host starts to route, to permute and to exchange tokens; counted in Megatron-Core's router.py and
 * token_dispatcher.py (0.12): scores in fp32, bias, top-k, its mask, normalisation and the balancing loss; tokens per
 * expert, their sums over ranks, copies of the counts to the host, sorting by expert, and the way back.
 */
const ROUTER_LAUNCHES = { forward: 22, backward: 30 };
const EXCHANGE_LAUNCHES = { forward: 6, backward: 6 };
const PERMUTE_LAUNCHES: Readonly<Record<LayerContext['expertDispatcher'], Launches>> = {
  alltoall: { forward: 28, backward: 24 },
  allgather: { forward: 20, backward: 16 },
  // these permute and send in one kernel
  deepep: { forward: 12, backward: 10 },
  hybridep: { forward: 12, backward: 10 },
};

/** Width that the experts act on. */
const expertInput = (spec: Moe, h: number): number => spec.latentSize ?? h;

/** Parameters of one routed expert. */
function expertWeights(spec: Moe, h: number): number {
  const input = expertInput(spec, h);
  const bias = spec.bias ? spec.expertWidth * (spec.gated ? 2 : 1) + input : 0;
  return numMatrices(spec) * input * spec.expertWidth + bias;
}

const latentWeights = (spec: Moe, h: number): number => (spec.latentSize === null ? 0 : 2 * h * spec.latentSize);
const sharedWeights = (spec: Moe, h: number): number => numMatrices(spec) * h * spec.sharedWidth;
const routerWeights = (spec: Moe, h: number): number => h * spec.numExperts;

function parameters(spec: Moe, { hiddenSize: h }: ModelShape): PartParameters {
  const expert = expertWeights(spec, h);
  return {
    sharded: sharedWeights(spec, h),
    replicated:
      routerWeights(spec, h) +
      (spec.routerBias ? spec.numExperts : 0) +
      latentWeights(spec, h) +
      (spec.sharedGate && spec.sharedWidth > 0 ? h : 0),
    routed: spec.numExperts * expert,
    activeRouted: spec.expertsPerToken * expert,
  };
}

function linearFlops(spec: Moe, { hiddenSize: h }: ModelShape): number {
  const routed = spec.expertsPerToken * numMatrices(spec) * expertInput(spec, h) * spec.expertWidth;
  return 2 * (routed + sharedWeights(spec, h) + routerWeights(spec, h) + latentWeights(spec, h));
}

/**
 * The matmul of all local experts: one kernel over T·K·imb rows, whose tiles are those of rows per expert. It is taken as
 * that many matmuls of the rows of one expert (MODEL §4.1: use M_e = T·K·imb/E_local in the curve), started once.
 */
function grouped(
  label: string,
  context: LayerContext,
  shape: { rows: number; experts: number; n: number; k: number },
): Operator {
  const { rows, experts, n, k } = shape;
  return {
    ...matmul(label, context, { m: Math.max(1, rows / experts), n, k, times: experts }, ['moe']),
    launches: { forward: experts, backward: 2 * experts },
    isLoose: context.isDropless,
    source: 'measured matmul curve at one expert’s rows, times the local experts (docs/MODEL.md §4.1)',
  };
}

/** Of `picks` uniform choices among `places`, how many places are chosen at all on average. */
export const distinctPlaces = (picks: number, places: number): number => places * (1 - (1 - 1 / places) ** picks);

/**
 * Seconds of dispatch and combine for `bytes` of copies that leave a rank.
 *   alltoall            every copy travels by itself, both ways
 *   allgather           all ranks gather all tokens, K copies of none; combine is a reduce-scatter of the same
 *   deepep, hybridep    a token crosses to each domain that holds one of its experts once and is copied there; both levels
 *                       run at the same time
 * Source: Megatron-Core token_dispatcher.py; DeepEP (deepseek-ai/DeepEP, README: forwarding from the network to NVLink).
 */
function dispatchSeconds(spec: Moe, { links, groups, ep, expertDispatcher }: LayerContext, bytes: number): number {
  const group = groups.ep;
  if (expertDispatcher === 'allgather') {
    const all = (bytes / spec.expertsPerToken) * ep;
    return groupSeconds(links, 'allGather', group, all) + groupSeconds(links, 'reduceScatter', group, all);
  }
  const domains = Math.ceil(group.size / group.ranksPerDomain);
  if (expertDispatcher === 'alltoall' || domains === 1) return 2 * groupSeconds(links, 'allToAll', group, bytes);
  const crossing = (bytes / spec.expertsPerToken) * distinctPlaces(spec.expertsPerToken, domains);
  const inside = { ...group, size: group.ranksPerDomain };
  return 2 * Math.max(groupSeconds(links, 'allToAll', group, crossing), groupSeconds(links, 'allToAll', inside, bytes));
}

/** Dispatch and combine: each token's K copies to the ep ranks and back; backward mirrors both. */
function exchange(spec: Moe, context: LayerContext, rows: number): Operator[] {
  const { ep, etp, links } = context;
  const input = expertInput(spec, context.model.hiddenSize);
  const operators: Operator[] = [];
  const visible = 1 - context.expertOverlapFraction;
  const add = (label: string, seconds: number, group: Group, bytes: number) =>
    operators.push({
      label,
      explain: explainCollective(group, bytes, {
        forward: { waited: seconds * visible, hidden: seconds * (1 - visible) },
        backward: { waited: seconds * visible, hidden: seconds * (1 - visible) },
      }),
      kind: 'communication',
      forwardSeconds: seconds * visible,
      backwardSeconds: seconds * visible,
      hiddenForwardSeconds: seconds * (1 - visible),
      hiddenBackwardSeconds: seconds * (1 - visible),
      launches: EXCHANGE_LAUNCHES,
      isLoose: context.isDropless,
      group: label.startsWith('EP') ? 'ep' : 'etp',
      modules: ['moe'],
      source: 'measured collective curve (docs/KERNELS.md), volume docs/MODEL.md §5.3',
    });
  if (ep > 1) {
    const bytes = 2 * rows * input;
    add('EP dispatch and combine', dispatchSeconds(spec, context, bytes), context.groups.ep, bytes);
  }
  if (etp > 1) {
    const group = context.groups.etp;
    const bytes = 2 * rows * input * etp;
    add(
      'Expert TP all-gather and reduce-scatter',
      groupSeconds(links, 'allGather', group, bytes) + groupSeconds(links, 'reduceScatter', group, bytes),
      group,
      bytes,
    );
  }
  return operators;
}

function routing(spec: Moe, context: LayerContext, tokens: number): Operator[] {
  const { processor, model } = context;
  const h = model.hiddenSize;
  const copies = tokens * spec.expertsPerToken;
  return [
    matmul('Router', { ...context, processor: inHalf(processor) }, { m: tokens, n: spec.numExperts, k: h }, ['moe']),
    {
      ...elementwise(
        'Router softmax and top-k',
        processor,
        {
          forward: 8 * spec.numExperts * tokens,
          backward: 8 * spec.numExperts * tokens,
          forwardKernels: 3,
          backwardKernels: 3,
        },
        ['moe'],
      ),
      launches: ROUTER_LAUNCHES,
    },
    {
      ...elementwise(
        'Permute and unpermute tokens',
        processor,
        {
          forward: 2 * 4 * expertInput(spec, h) * copies,
          backward: 2 * 4 * expertInput(spec, h) * copies,
          forwardKernels: 4,
          backwardKernels: 4,
        },
        ['moe'],
      ),
      launches: PERMUTE_LAUNCHES[context.expertDispatcher],
      isLoose: context.isDropless,
    },
  ];
}

function shared(spec: Moe, context: LayerContext): Operator[] {
  if (spec.sharedWidth === 0) return [];
  const { tp, tokens: m, model, processor, fusedKernels } = context;
  const shape = { gated: spec.gated, bias: false };
  const h = model.hiddenSize;
  const f = spec.sharedWidth / tp;
  const up = { m, n: f * (spec.gated ? 2 : 1), k: h };
  return [
    matmul('Shared expert, up', context, up, SHARED),
    matmul('Shared expert, down', context, { m, n: h, k: f }, SHARED),
    elementwise(
      'Shared expert activation',
      processor,
      timesElements(activationBytes(shape, fusedKernels), f * m),
      SHARED,
    ),
    ...blockCollectives('shared expert', context, weightGradientTime(processor, up)),
  ];
}

/** What a rank does with the rows that are sent to it, `imbalance` times the mean's: experts and their exchanges. */
function routed(spec: Moe, context: LayerContext, tokens: number, imbalance: number): Operator[] {
  const { ep, etp, model, processor, fusedKernels } = context;
  const experts = spec.numExperts / ep;
  const rows = tokens * spec.expertsPerToken * imbalance;
  // etp ranks gather one another's rows and hold a part of each expert's width
  const localRows = rows * etp;
  const width = spec.expertWidth / etp;
  const input = expertInput(spec, model.hiddenSize);
  return [
    grouped('Experts, up', context, { rows: localRows, experts, n: width * (spec.gated ? 2 : 1), k: input }),
    grouped('Experts, down', context, { rows: localRows, experts, n: input, k: width }),
    elementwise(
      'Expert activation',
      processor,
      timesElements(activationBytes({ gated: spec.gated, bias: false }, fusedKernels), width * localRows),
      ['moe', 'moe-activation'],
    ),
    ...exchange(spec, context, rows),
  ];
}

/** The operator of the fullest rank; what it takes beyond that of evenly filled ranks is told by itself. */
function withUneven(fullest: Operator, even: Operator): Operator {
  const uneven = {
    forwardSeconds: fullest.forwardSeconds - even.forwardSeconds,
    backwardSeconds: fullest.backwardSeconds - even.backwardSeconds,
  };
  return { ...fullest, shares: { ...even.shares, uneven } };
}

function operators(spec: Moe, context: LayerContext): Operator[] {
  const { tp, ep, etp, model, expertImbalance } = context;
  const h = model.hiddenSize;
  // with sequence parallelism each tp rank routes its own part of the sequence
  const tokens = context.tokens / (context.sequenceParallel ? tp : 1);
  const input = expertInput(spec, h);
  const latent =
    spec.latentSize === null ? [] : [matmul('Latent projections', context, { m: tokens, n: 2 * input, k: h }, ['moe'])];
  const even = routed(spec, context, tokens, 1);
  // a rank that holds all experts gets all rows, however unevenly they are spread over them
  const fullest = ep === 1 || expertImbalance === 1 ? even : routed(spec, context, tokens, expertImbalance);
  return [
    ...routing(spec, context, tokens),
    ...latent,
    ...fullest.map((operator, index) => withUneven(operator, even[index] ?? operator)),
    ...shared(spec, context),
    ...gradientAccumulation(
      'experts',
      context,
      ((spec.numExperts / ep) * expertWeights(spec, h)) / etp + sharedWeights(spec, h) / tp + routerWeights(spec, h),
    ),
  ];
}

/** Tensors of routed rows that only some stacks and splits keep; `rowBytes` of a token's rows in 16 bits. */
function rowTensors(rowBytes: number, etp: number, keepsScoredRows: boolean): ActivationTensor[] {
  const source = 'docs/MODEL.md §3.4';
  const tensor = (label: string, bytesPerToken: number) => ({
    label,
    bytesPerToken,
    modules: ['moe'] as const,
    source,
  });
  return [
    ...(keepsScoredRows ? [tensor('Rows as they are weighted by the router’s scores', rowBytes)] : []),
    ...(etp > 1 ? [tensor('Rows of all expert-TP ranks before their outputs are reduced', rowBytes * etp)] : []),
  ];
}

/** Experts behind a router, dropless. */
export const moe: Part<Moe> = {
  parameters,
  linearFlops,
  coreFlops: () => 0,
  operators,
  tensors: (spec, { model, plan, inputBytes, keepsScoredRows }) => {
    const share = plan.sequenceParallel ? plan.tp : 1;
    const input = expertInput(spec, model.hiddenSize);
    // copies of the rank's tokens; etp ranks gather one another's and hold a part of each expert's width
    const copies = spec.expertsPerToken / share;
    const source = 'docs/MODEL.md §3.4';
    return [
      {
        label: 'Router logits and probabilities',
        bytesPerToken: (8 * spec.numExperts) / share,
        modules: ['moe'],
        source,
      },
      { label: 'Permuted tokens', bytesPerToken: inputBytes * input * copies * plan.etp, modules: ['moe'], source },
      {
        label: 'Expert gate and up projections',
        bytesPerToken: (spec.gated ? 4 : 2) * spec.expertWidth * copies,
        modules: ['moe'],
        source,
      },
      {
        label: 'Expert activation',
        bytesPerToken: (spec.gated ? inputBytes : 2 + inputBytes) * spec.expertWidth * copies,
        modules: ['moe', 'moe-activation'],
        source,
      },
      ...rowTensors(2 * input * copies, plan.etp, keepsScoredRows),
      {
        label: 'Shared expert',
        bytesPerToken: (((spec.gated ? 4 : 2) + inputBytes) * spec.sharedWidth) / plan.tp,
        modules: ['moe', 'shared-experts'],
        source,
      },
    ];
  },
  words: ({ numExperts, expertsPerToken, expertWidth, sharedWidth }) =>
    `${numExperts} experts of ${inDigits(expertWidth)}, ${expertsPerToken} per token` +
    (sharedWidth === 0 ? '' : `, shared ones of ${inDigits(sharedWidth)}`),
  splitSizes: ({ numExperts, expertWidth, sharedWidth }) => [
    { over: 'ep', size: numExperts, what: `${numExperts} experts`, rule: 'experts-divide-ep' },
    { over: 'etp', size: expertWidth, what: `the expert width ${expertWidth}`, rule: 'expert-width-divides-etp' },
    ...(sharedWidth === 0
      ? []
      : [
          {
            over: 'tp' as const,
            size: sharedWidth,
            what: `the shared expert width ${sharedWidth}`,
            rule: 'ffn-divides-tp',
          },
        ]),
  ],
};
