import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { findAccelerator } from '../schema/index.ts';
import { placedDomainSize } from './device.ts';
import { processorOf } from './compute.ts';
import { matmulSeconds } from './kernels/index.ts';
import { presets } from './testing/catalog.ts';
import { problemOf, type Choices } from './testing/problems.ts';

const table = z
  .object({
    columns: z.array(z.string()),
    rows: z.array(z.object({ name: z.string(), figures: z.array(z.number().nullable()) })),
  })
  .parse(JSON.parse(readFileSync(new URL('testing/hardware.json', import.meta.url), 'utf8')));

/** Where the catalog says otherwise than the table, and why. */
const differences: Readonly<Record<string, readonly string[]>> = {
  // the table mixes the module (383 TFLOP/s, 128 GB) with its devices (8 a node, 100 Gb/s each): see mi250x-gcd
  MI250X: ['scaleUpDomain', 'nicGbpsPerAccelerator'],
  'TPU-v5p': ['memoryGiB'], // Google prints 95 GB, XLA offers 95.74 GiB
};

describe('the catalog and the hardware table', () => {
  test('has all 32 rows', () => expect(table.rows).toHaveLength(32));

  test.each(table.rows.map((row) => [row.name, row] as const))('%s', (name, { figures }) => {
    const { peakTflops, scaleUp, scaleOut, ...rest } = findAccelerator(presets, name);
    const ours: Record<string, number | null> = {
      ...peakTflops,
      memoryGiB: rest.memoryGiB,
      memoryBandwidthGBps: rest.memoryBandwidthGBps,
      scaleUpGBps: scaleUp.bandwidthGBps,
      scaleUpDomain: scaleUp.domainSize,
      nicGbpsPerAccelerator: scaleOut.nicsPerAccelerator * scaleOut.bandwidthGbps,
      acceleratorsPerNode: rest.acceleratorsPerNode,
      powerW: rest.powerW,
      numMultiprocessors: rest.numMultiprocessors,
    };
    const expected = Object.fromEntries(table.columns.map((column, index) => [column, figures[index]]));
    const known = table.columns.filter((column) => differences[name]?.includes(column) !== true);
    expect(Object.fromEntries(known.map((column) => [column, ours[column]]))).toEqual(
      Object.fromEntries(known.map((column) => [column, expected[column]])),
    );
  });
});

/** TFLOP/s of an 8192³ bf16 matmul in a benchmark: without what training stacks and a sustained load lose. */
function largeMatmul(choices: Choices): number {
  const problem = problemOf(choices);
  const { calibration, device } = problem;
  const curve = calibration.kernels.accelerators[device.kernelCurves]!.matmul['bf16']!;
  const shape = { m: 8192, n: 8192, k: 8192 };
  const seconds = matmulSeconds(curve, processorOf(problem).rates, shape) * device.matmulSlowdown;
  return (2 * 8192 ** 3) / seconds / 1e12;
}

describe('borrowed kernel curves', () => {
  test.each([
    ['mi300x', 668],
    ['mi325x', 785],
    ['mi355x', 1565],
    ['gaudi3', 1243],
    ['gh200-96gb', 829],
    ['a100-80gb-pcie', 253],
  ])('%s reaches about the %d TFLOP/s that were measured', (accelerator, best) => {
    const reached = largeMatmul({ accelerator });
    expect(reached).toBeGreaterThan(0.85 * best);
    expect(reached).toBeLessThanOrEqual(best * 1.001);
  });

  test.each([
    ['a800-80gb-sxm', 'a100-sxm', 'a100-sxm'],
    ['h800-80gb-sxm', 'h100-sxm', 'h100-sxm'],
    ['mi300x', 'h100-sxm', 'a100-sxm'], // no switch that reduces
    ['rtx-4090', 'l40s', 'l40s'],
    ['rubin-nvl72', 'gb300', 'gb300'],
    ['b200-180gb-sxm', 'b200-sxm', 'b200-sxm'],
  ])('%s takes matmuls of %s and collectives of %s', (accelerator, kernelCurves, collectiveCurves) => {
    expect(problemOf({ accelerator }).device).toMatchObject({ kernelCurves, collectiveCurves });
  });

  test('are said, and only where they are borrowed', () => {
    expect(problemOf({ accelerator: 'h200-141gb-sxm' }).assumed).toEqual([]);
    const { assumed } = problemOf({ accelerator: 'mi300x' });
    expect(assumed.join('\n')).toMatch(/no kernels were measured on it, those of h100-sxm.*668 TFLOP\/s measured/);
    expect(problemOf({ accelerator: 'rubin-nvl72' }).assumed.join('\n')).toMatch(
      /announced.*\n.*\n.*\n.*not published/,
    );
  });
});

describe('hardware of one’s own', () => {
  test('replaces the figures that are given and keeps the others', () => {
    const own = problemOf({ acceleratorOverrides: { name: 'A101', memoryGiB: 96, peakTflops: { bf16: 400 } } });
    const { device } = problemOf();
    expect(own.device).toEqual({
      ...device,
      name: 'A101',
      memoryBytes: 96 * 2 ** 30,
      peakFlopsPerSecond: 400e12,
      peaks: { ...device.peaks, bf16: 400e12 },
    });
  });

  test('follows a matmul that was measured on it', () => {
    const slow = largeMatmul({
      acceleratorOverrides: { kernelCurves: null, similarTo: 'a100-sxm', bestMatmulTflops: 156 },
    });
    expect(slow).toBeGreaterThan(0.85 * 156);
    expect(slow).toBeLessThanOrEqual(157);
  });
});

test.each([
  [256, 72, 4, 64],
  [288, 72, 4, 72],
  [512, 72, 4, 64],
  [16, 72, 4, 16],
  [3072, 8, 8, 8],
  [12, 8, 4, 4],
  [96, 72, 4, 48],
])('%d accelerators in domains of %d, nodes of %d, are placed %d to a domain', (count, domain, node, placed) => {
  expect(placedDomainSize(count, domain, node)).toBe(placed);
});

test('host memory is the scenario’s, else that of the usual node, else unknown', () => {
  expect(problemOf().host).toMatchObject({ memoryBytes: 2048 * 2 ** 30, linkBytesPerSecond: 31e9 });
  expect(
    problemOf({ accelerator: 'h20-96gb', acceleratorOverrides: { hostMemoryGiB: null } }).host.memoryBytes,
  ).toBeNull();
});
