/** Section 5: communication. Measured collectives of one node are in kernels.ts. */
import { bytesBetween } from '../../network/algorithms/hierarchical.ts';
import { groupOf, groupSeconds, linksOf, ncclLatencySeconds, volumes } from '../../network/index.ts';
import { problemOf } from '../problems.ts';
import { missOf, numbersOf, type Answer, type Numbers, type Vector } from './vectors.ts';

const activations = ({ s = 1, b = 1, h = 1, bytes_per_el = 2 }: Numbers) => ({
  seqLen: s,
  microBatchSize: b,
  hiddenSize: h,
  bytesPerElement: bytes_per_el,
});

const attention = ({ s = 1, b = 1, a = 1, kv = 1, d = 1 }: Numbers) => ({
  seqLen: s,
  microBatchSize: b,
  numHeads: a,
  numKvHeads: kv,
  headDim: d,
  bytesPerElement: 2,
});

function ncclLatency({ inputs }: Vector): number {
  const { algo, coll, proto, ranks } = inputs as { algo: string; coll: string; proto: string; ranks: number };
  return (
    1e6 *
    ncclLatencySeconds({
      algorithm: algo as 'ring' | 'tree',
      operation: coll === 'ar' ? 'allReduce' : 'other',
      protocol: proto as 'LL' | 'LL128' | 'Simple',
      ranks,
      nodes: Math.max(1, ranks / 8),
      inside: 'nvlink',
    })
  );
}

/**
 * All-reduce over k nodes of g accelerators: through one NIC (as two ranks), by a flat ring over all NICs of a node, the
 * part between nodes of a hierarchical one, and what the network model takes with a B200's links inside.
 */
function allReduces({ P = 1, g = 1, k = 1, nic = 1 }: Numbers): number[] {
  const problem = problemOf({ accelerator: 'b200-180gb-sxm', numAccelerators: g * k, scaleOut: { latencyUs: 0 } });
  const links = { ...linksOf(problem), scaleOutBytesPerSecond: nic };
  return [
    volumes.ringAllReduceSeconds(P, 2, nic, 0),
    volumes.ringAllReduceSeconds(P, g * k, g * nic, 0),
    bytesBetween(P, k, g) / nic,
    groupSeconds(links, 'allReduce', groupOf(g, g * k, 1), P),
  ];
}

/** The last figure is a measurement: the model must lie between both levels overlapped and one after the other. */
function allReduceFault(vector: Vector, value: unknown): string | null {
  const [naive, ring, between, measured] = vector.expected as number[];
  const [, , , model = 0] = value as number[];
  const fault = missOf({ ...vector, expected: [naive, ring, between] }, value);
  const isBetween = model > (between ?? 0) && model < 1.2 * (measured ?? 0);
  return fault ?? (isBetween ? null : `${vector.id}: ${model} s is not between ${between} and 1.2 · ${measured}`);
}

export const networkAnswers: readonly Answer[] = [
  {
    ids: /^ring_ar\./,
    by: 'volumes.ringAllReduceSeconds',
    value: (vector) => {
      const { S = 1, n = 1, B = 1, alpha = 0 } = numbersOf(vector);
      return volumes.ringAllReduceSeconds(S, n, B, alpha);
    },
  },
  {
    ids: /^hier_ar\./,
    by: 'volumes.ringAllReduceSeconds, bytesBetween, groupSeconds',
    value: (vector) => allReduces(numbersOf(vector)),
    judge: allReduceFault,
  },
  {
    ids: /^busbw_to_nic$/,
    by: 'volumes.nicRateOf',
    value: (vector) => {
      const { busbw = 1, k = 1, n = 1 } = numbersOf(vector);
      return volumes.nicRateOf(busbw, k, n);
    },
  },
  { ids: /^nccl_lat\./, by: 'ncclLatencySeconds', value: ncclLatency },
  {
    ids: /^tp\.(sp\.)?vol\./,
    by: 'volumes.tensorParallelBytes',
    value: (vector) =>
      volumes.tensorParallelBytes(
        activations(numbersOf(vector)),
        numbersOf(vector)['t'] ?? 1,
        vector.id.includes('.sp.'),
      ),
  },
  {
    ids: /^pp\.p2p\./,
    by: 'volumes.pipelineSendBytes',
    value: (vector) => volumes.pipelineSendBytes(activations(numbersOf(vector)), numbersOf(vector)['t'] ?? 1, true),
  },
  {
    ids: /^dp\.vol\./,
    by: 'volumes.dataParallelBytes',
    value: (vector) => {
      const { Psi = 1, stage = 0, bytes_per_el = 2 } = numbersOf(vector);
      return volumes.dataParallelBytes(Psi * bytes_per_el, stage, Infinity);
    },
  },
  {
    ids: /^hsdp\.vol$/,
    by: 'volumes.hybridShardBytes',
    value: (vector) => {
      const { Psi = 1, F = 1, R = 1, by = 2 } = numbersOf(vector);
      const { inside, between } = volumes.hybridShardBytes(Psi * by, F, R);
      return { intra: inside, inter: between };
    },
  },
  {
    ids: /^cp\.ring\./,
    by: 'volumes.contextRingBytes',
    value: (vector) => volumes.contextRingBytes(attention(numbersOf(vector)), numbersOf(vector)['c'] ?? 1),
  },
  {
    ids: /^cp\.ulysses\./,
    by: 'volumes.ulyssesBytes',
    value: (vector) => volumes.ulyssesBytes(attention(numbersOf(vector)), numbersOf(vector)['c'] ?? 1),
  },
  {
    ids: /^ep\.a2a\./,
    by: 'volumes.expertBytes',
    value: (vector) => {
      const { tokens_per_gpu: tokens = 1, h = 1, topk = 1, ep = 1, bytes = 1 } = numbersOf(vector);
      return volumes.expertBytes({ tokens, hiddenSize: h, expertsPerToken: topk, bytesPerElement: bytes }, ep);
    },
  },
  {
    ids: /^ep\.expected_nodes\./,
    by: 'volumes.expectedNodes',
    value: (vector) => volumes.expectedNodes(numbersOf(vector)['k'] ?? 1, numbersOf(vector)['n'] ?? 1),
  },
];
