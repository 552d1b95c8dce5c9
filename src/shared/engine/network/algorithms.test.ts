import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { problemOf, type Choices } from '../testing/problems.ts';
import {
  algorithms,
  bestAlgorithm,
  groupOf,
  groupSeconds,
  linksOf,
  neighbourSeconds,
  placementOf,
  sendSeconds,
  type Links,
  type NetworkOp,
} from './index.ts';

const links = (choices: Choices) => linksOf(problemOf({ numAccelerators: 1024, ...choices }));
const h100 = links({ accelerator: 'h100-80gb-sxm' });
const nameOf = (wires: Links, op: NetworkOp, size: number, bytes: number, stride = 1) =>
  bestAlgorithm(wires, { op, group: groupOf(wires.domainSize, size, stride), bytes })?.algorithm.name;

/** Bus bandwidth of a collective of 1 GiB, GB/s. */
function busGBps(wires: Links, op: NetworkOp, size: number, stride = 1): number {
  const bytes = 2 ** 30;
  const factor = ((op === 'allReduce' ? 2 : 1) * (size - 1)) / size;
  return (factor * bytes) / groupSeconds(wires, op, groupOf(wires.domainSize, size, stride), bytes) / 1e9;
}

describe('the algorithm that is taken', () => {
  test.each<[NetworkOp, number, number, string]>([
    ['allReduce', 8, 2 ** 30, 'local'],
    ['allReduce', 512, 2 ** 14, 'tree'],
    ['allReduce', 64, 2 ** 30, 'hierarchical'],
    ['allGather', 64, 2 ** 30, 'ring'],
    ['reduceScatter', 64, 2 ** 30, 'ring'],
    ['allToAll', 64, 2 ** 30, 'direct'],
    ['broadcast', 64, 2 ** 14, 'tree'],
    ['broadcast', 8, 2 ** 30, 'local'],
  ])('%s over %d ranks of %d bytes: %s', (op, size, bytes, name) => {
    expect(nameOf(h100, op, size, bytes)).toBe(name);
  });

  test('switches that reduce are used for large all-reduces, and only where they can', () => {
    const sharp = links({ accelerator: 'h100-80gb-sxm', scaleOut: { inNetworkReduction: true } });
    expect(nameOf(sharp, 'allReduce', 1024, 2 ** 32, 8)).toBe('in-network'); // one rank per domain
    expect(nameOf(h100, 'allReduce', 16, 2 ** 34, 8)).toBe('ring');
    expect(nameOf(sharp, 'allGather', 1024, 2 ** 32, 8)).toBe('ring');
    const saved = busGBps(sharp, 'allReduce', 128, 8) / busGBps(h100, 'allReduce', 128, 8);
    expect(saved).toBeGreaterThan(1.7); // S(1 + 1/k) sent instead of 2S(k − 1)/k
    expect(saved).toBeLessThan(2);
  });

  test('none beats the bytes that have to cross the NICs, nor loses to another that could run', () => {
    const op = fc.constantFrom<NetworkOp>('allReduce', 'allGather', 'reduceScatter', 'allToAll', 'broadcast');
    const power = (max: number) => fc.integer({ min: 0, max }).map((exponent) => 2 ** exponent);
    fc.assert(
      fc.property(op, power(8), power(4), power(34), (name, size, stride, bytes) => {
        fc.pre(size > 1);
        const group = groupOf(8, size, stride);
        const best = bestAlgorithm(h100, { op: name, group, bytes });
        const all = algorithms.map((algorithm) => algorithm.seconds(h100, { op: name, group, bytes }));
        expect(best?.seconds).toBe(Math.min(...all.filter((seconds) => seconds !== null)));
        if (placementOf(group) === 'scale-up') return;
        const domains = size / group.ranksPerDomain;
        const least =
          name === 'allToAll'
            ? (bytes * (size - group.ranksPerDomain)) / size
            : (bytes * (1 - 1 / domains)) / group.ranksPerDomain;
        expect(best?.seconds).toBeGreaterThanOrEqual(least / h100.scaleOutBytesPerSecond);
      }),
    );
  });
});

/** All-reduce over 4 × 8 B200 with EFA: bus GB/s measured (ml-engineering 744d01e), large arrays. */
test.each([
  [1, 362],
  [4, 377.3],
  [16, 382],
])('all-reduce of %d GiB over 4 × 8 B200 reaches about the %d GB/s that were measured', (gib, measured) => {
  const wires = links({ accelerator: 'b200-180gb-sxm', numAccelerators: 32, scaleOut: { latencyUs: 15 } });
  const bytes = gib * 2 ** 30;
  const reached = (2 * (31 / 32) * bytes) / groupSeconds(wires, 'allReduce', groupOf(8, 32, 1), bytes) / 1e9;
  expect(Math.abs(reached / measured - 1)).toBeLessThan(0.06);
});

describe('links by their wiring', () => {
  const { scaleUpEfficiency } = problemOf().calibration.parameters;

  test('pairs: two MI300X share one link of 64 GB/s, eight all seven', () => {
    const mi300x = links({ accelerator: 'mi300x', numAccelerators: 8 });
    expect(busGBps(mi300x, 'allReduce', 2)).toBeLessThan(64);
    expect(busGBps(mi300x, 'allReduce', 2)).toBeGreaterThan(0.6 * 64);
    expect(busGBps(mi300x, 'allReduce', 8) / busGBps(mi300x, 'allReduce', 2)).toBeGreaterThan(6);
    expect(mi300x.scaleUpBytesPerSecond / 1e9).toBeCloseTo(0.8 * scaleUpEfficiency * 64, 6);
  });

  test('a torus: two directions along every axis that the group fills', () => {
    const v4 = links({ accelerator: 'tpu-v4', numAccelerators: 512 }); // 8 × 8 × 8
    const perAxis = busGBps(v4, 'allReduce', 8);
    expect(busGBps(v4, 'allReduce', 4)).toBeLessThan(0.6 * perAxis); // part of an axis: a line
    expect(busGBps(v4, 'allReduce', 64) / perAxis).toBeGreaterThan(1.7);
    expect(busGBps(v4, 'allReduce', 512)).toBeLessThan(300);
    expect(busGBps(v4, 'allToAll', 512)).toBeLessThan(busGBps(v4, 'allGather', 512) / 3); // the distance counts
  });

  test('a part of a ring has ends', () => {
    const v100 = links({ accelerator: 'v100-32gb-sxm2', numAccelerators: 8, precision: { compute: 'fp16' } });
    expect(busGBps(v100, 'allReduce', 8) / busGBps(v100, 'allReduce', 4)).toBeGreaterThan(1.8);
  });

  test('a node whose cards have no links talks over PCIe, as it was measured', () => {
    const l40s = links({ accelerator: 'l40s', numAccelerators: 16 });
    expect(placementOf(groupOf(l40s.domainSize, 8, 1), l40s)).toBe('node');
    expect(placementOf(groupOf(l40s.domainSize, 16, 1), l40s)).toBe('scale-out');
    expect(busGBps(l40s, 'allReduce', 2)).toBeGreaterThan(15);
    expect(busGBps(l40s, 'allReduce', 2)).toBeLessThan(31);
  });

  test('beyond a bridged pair PCIe carries; two rings where the bridge can feed them', () => {
    const bridged = links({ accelerator: 'h100-94gb-nvl', numAccelerators: 8 });
    expect(busGBps(bridged, 'allReduce', 2)).toBeGreaterThan(150);
    expect(busGBps(bridged, 'allReduce', 8)).toBeLessThan(2 * 0.8 * 63 + 1e-9);
    const plain = links({ accelerator: 'a100-80gb-pcie', numAccelerators: 8 });
    expect(busGBps(plain, 'allReduce', 8)).toBeLessThanOrEqual(0.8 * 31);
  });
});

describe('levels of the network', () => {
  const tiers = [
    { name: 'rack', accelerators: 16, oversubscription: 1, latencyUs: null },
    { name: 'pod', accelerators: 256, oversubscription: 4, latencyUs: 20 },
  ];
  const flat = links({ accelerator: 'h100-80gb-sxm' });
  const levelled = links({ accelerator: 'h100-80gb-sxm', scaleOut: { tiers } });
  const ratio = (op: NetworkOp, size: number, stride: number) =>
    busGBps(flat, op, size, stride) / busGBps(levelled, op, size, stride);

  test('a group inside a pod does not notice the level above', () => {
    expect(ratio('allReduce', 32, 8)).toBe(1);
    expect(ratio('allToAll', 64, 1)).toBe(1);
  });
  test('one rank per pod pays all of it, many per pod share what their ring needs', () => {
    expect(ratio('allReduce', 4, 256)).toBeCloseTo(4, 1);
    expect(ratio('allReduce', 128, 8)).toBeLessThan(1.05); // 32 ranks of a pod, one crossing
  });
  test('all-to-all pays for the part that leaves the pod', () => {
    expect(ratio('allToAll', 1024, 1)).toBeCloseTo((4 * (1024 - 256)) / 1023, 1);
  });
  test('a send between pods is slowed, and later', () => {
    const pipeline = groupOf(8, 4, 256);
    const send = neighbourSeconds(levelled, 2 ** 28, pipeline);
    expect(send / neighbourSeconds(flat, 2 ** 28, pipeline)).toBeCloseTo(4, 1);
    expect(neighbourSeconds(levelled, 1e-9, pipeline)).toBeCloseTo(20e-6, 9);
    expect(neighbourSeconds(flat, 2 ** 28, pipeline)).toBe(sendSeconds(flat, 2 ** 28, 'scale-out'));
  });
});

test('all-to-all uses each rank’s own NIC', () => {
  const oneRankOut = busGBps(h100, 'allToAll', 64, 8);
  expect(oneRankOut).toBeLessThan(50);
  expect(busGBps(h100, 'allToAll', 64, 1)).toBeLessThan(60); // 8 of 64 stay inside
});

test('half a NIC per accelerator is half the rate', () => {
  const shared = links({ accelerator: 'h100-80gb-sxm', scaleOut: { nicsPerAccelerator: 0.5 } });
  expect(busGBps(h100, 'allGather', 128, 8) / busGBps(shared, 'allGather', 128, 8)).toBeCloseTo(2, 1);
});
