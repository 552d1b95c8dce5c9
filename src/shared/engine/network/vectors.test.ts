/** The project's test vectors of communication that the network's own functions answer. */
import { describe, expect, test } from 'vitest';
import { ncclLatencySeconds, volumes } from './index.ts';

const close = (actual: number, expected: number) => expect(Math.abs(actual / expected - 1)).toBeLessThanOrEqual(1e-9);

describe('latency as NCCL’s tuner takes it', () => {
  test.each([
    ['nccl_lat.ring_ll_ar8', 'ring', 'allReduce', 'LL', 8, 1, 15],
    ['nccl_lat.ring_simple_ar8', 'ring', 'allReduce', 'Simple', 8, 1, 56],
    ['nccl_lat.ring_ll128_ag8', 'ring', 'other', 'LL128', 8, 1, 27.3],
    ['nccl_lat.tree_ll_ar_8x16', 'tree', 'allReduce', 'LL', 128, 16, 55.2],
  ] as const)('%s', (_, algorithm, operation, protocol, ranks, nodes, us) => {
    close(ncclLatencySeconds({ algorithm, operation, protocol, ranks, nodes, inside: 'nvlink' }), us * 1e-6);
  });
});

describe('bytes that a rank sends', () => {
  const activations = (seqLen: number, hiddenSize: number) => ({
    ...{ seqLen, hiddenSize, microBatchSize: 1, bytesPerElement: 2 },
  });
  test.each([
    ['tp.vol.t8.h12288', volumes.tensorParallelBytes(activations(2048, 12_288), 8, false), 352_321_536],
    ['tp.sp.vol.t8.h12288', volumes.tensorParallelBytes(activations(2048, 12_288), 8, true), 440_401_920],
    ['tp.vol.t4.h8192', volumes.tensorParallelBytes(activations(8192, 8192), 4, false), 805_306_368],
    ['tp.sp.vol.t4.h8192', volumes.tensorParallelBytes(activations(8192, 8192), 4, true), 1_006_632_960],
    ['pp.p2p.scatter_gather', volumes.pipelineSendBytes(activations(2048, 12_288), 8, true), 6_291_456],
    ['dp.vol.zero0', volumes.dataParallelBytes(2e9, 0, Infinity), 4e9],
    ['dp.vol.zero1', volumes.dataParallelBytes(2e9, 1, Infinity), 4e9],
    ['dp.vol.zero2', volumes.dataParallelBytes(2e9, 2, Infinity), 4e9],
    ['dp.vol.zero3', volumes.dataParallelBytes(2e9, 3, Infinity), 6e9],
    ['hsdp.vol inside', volumes.hybridShardBytes(16e9, 8, 16).inside, 42e9],
    ['hsdp.vol between', volumes.hybridShardBytes(16e9, 8, 16).between, 3.75e9],
    ['ep.a2a.T4096.h7168.k8.ep64.by1', experts(4096, 7168, 8, 1, 64), 231_211_008],
    ['ep.a2a.T4096.h7168.k8.ep64.by2', experts(4096, 7168, 8, 2, 64), 462_422_016],
    ['ep.a2a.T8192.h4096.k2.ep8.by2', experts(8192, 4096, 2, 2, 8), 117_440_512],
    ['ep.expected_nodes.k8.n8', volumes.expectedNodes(8, 8), 5.251128673553467],
    ['ep.expected_nodes.k8.n4', volumes.expectedNodes(8, 4), 3.59954833984375],
    ['cp.ring.s131072.c16', volumes.contextRingBytes(attention(131_072, 128), 16), 503_316_480],
    ['cp.ring.s32768.c8', volumes.contextRingBytes(attention(32_768, 64), 8), 117_440_512],
    ['cp.ulysses.s131072.c16', volumes.ulyssesBytes(attention(131_072, 128), 16), 534_773_760],
    ['cp.ulysses.s32768.c8', volumes.ulyssesBytes(attention(32_768, 64), 8), 132_120_576],
  ])('%s', (_, bytes, expected) => close(bytes, expected));
});

test.each([
  ['ring_ar.S1e+09.n8', volumes.ringAllReduceSeconds(1e9, 8, 450e9, 0), 0.003_888_888_888_888_888_8],
  ['ring_ar.S4.29497e+09.n8', volumes.ringAllReduceSeconds(2 ** 32, 8, 360e9, 3e-6), 0.020_920_313_244_444_443],
  ['ring_ar.S1e+09.n64', volumes.ringAllReduceSeconds(1e9, 64, 50e9, 10e-6), 0.040_635],
])('%s', (_, seconds, expected) => close(seconds, expected));

test('busbw_to_nic: the NIC’s rate behind a measured bus bandwidth', () => {
  expect(volumes.nicRateOf(377.34, 4, 32)).toBeCloseTo(36.516774, 5);
});

function experts(tokens: number, hiddenSize: number, expertsPerToken: number, bytesPerElement: number, ep: number) {
  return volumes.expertBytes({ tokens, hiddenSize, expertsPerToken, bytesPerElement }, ep);
}

function attention(seqLen: number, numHeads: number) {
  return { seqLen, microBatchSize: 1, numHeads, numKvHeads: 8, headDim: 128, bytesPerElement: 2 };
}
