import { describe, expect, test } from 'vitest';
import { AppError } from '../errors.ts';
import { presets } from '../engine/testing/catalog.ts';
import { acceleratorSchema, parseScenarioValue, resolveScenario, type Scenario } from './index.ts';

function open(cluster: object, precision: object = {}): Scenario {
  const value = {
    format: 'trainyard/scenario',
    version: 1,
    name: 'hardware',
    model: { preset: 'llama-3.1-8b' },
    cluster,
    job: { globalBatchSize: 64, seqLen: 2048, precision },
  };
  return resolveScenario(parseScenarioValue(value), presets);
}

function refusal(cluster: object, precision: object = {}): AppError {
  try {
    open(cluster, precision);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

describe('precisions that a part has', () => {
  test('V100 refuses bf16 and says what to use', () => {
    expect(refusal({ accelerator: 'v100', numAccelerators: 8 })).toMatchObject({
      path: 'job.precision.compute',
      message: expect.stringContaining('NVIDIA V100 32GB SXM2 has no bf16 units') as string,
      remedy: 'Use fp16 (with loss scaling).',
    });
    expect(open({ accelerator: 'v100', numAccelerators: 8 }, { compute: 'fp16' }).job.precision.weights).toBe('fp16');
  });
  test('H100 refuses fp4, GB200 plans it', () => {
    expect(refusal({ accelerator: 'h100', numAccelerators: 8 }, { compute: 'fp4' })).toMatchObject({
      path: 'job.precision.compute',
      message: expect.stringContaining('has no fp4 units') as string,
      remedy: 'Use bf16, fp16 or fp8.',
    });
    expect(open({ accelerator: 'gb200', numAccelerators: 8 }, { compute: 'fp4' }).job.precision).toMatchObject({
      compute: 'fp4',
      weights: 'bf16',
    });
  });
  test('TPU v4 refuses fp16', () => {
    expect(refusal({ accelerator: 'tpu-v4', numAccelerators: 64 }, { compute: 'fp16' }).remedy).toBe('Use bf16.');
  });
  test('own figures decide', () => {
    const overridden = { accelerator: 'v100', numAccelerators: 8, acceleratorOverrides: { peakTflops: { bf16: 100 } } };
    expect(open(overridden).cluster.acceleratorOverrides).toEqual({ peakTflops: { bf16: 100 } });
    const none = { accelerator: 'h100', numAccelerators: 8, acceleratorOverrides: { peakTflops: { bf16: null } } };
    expect(refusal(none).path).toBe('job.precision.compute');
  });
});

test('a misspelt figure of one’s own is refused with its place', () => {
  const cluster = { accelerator: 'h100', numAccelerators: 8, acceleratorOverrides: { memoryGB: 96 } };
  expect(refusal(cluster).issues).toMatchObject([{ path: 'cluster.acceleratorOverrides.memoryGB' }]);
});

test('more memory usable than there is is refused, whichever of the two was given', () => {
  const own = (acceleratorOverrides: object) => ({ accelerator: 'h100', numAccelerators: 8, acceleratorOverrides });
  expect(refusal(own({ usableMemoryGiB: 300 })).issues).toMatchObject([
    { path: 'cluster.acceleratorOverrides.usableMemoryGiB', message: 'must be at most memoryGiB = 80, found 300' },
  ]);
  expect(refusal(own({ memoryGiB: 40 })).message).toContain('must be at most memoryGiB = 40, found 79.1');
  expect(open(own({ memoryGiB: 96, usableMemoryGiB: 95 })).cluster.acceleratorOverrides?.memoryGiB).toBe(96);
});

describe('wiring', () => {
  test.each([
    ['the node is the domain: both shrink', { accelerator: 'h100', acceleratorsPerNode: 4 }, 4],
    ['the node is the domain: both grow', { accelerator: 'gh200', acceleratorsPerNode: 4 }, 4],
    ['a rack stays a rack', { accelerator: 'gb200', acceleratorsPerNode: 8 }, 72],
    ['a domain that is given stays', { accelerator: 'h100', acceleratorsPerNode: 16, scaleUp: { domainSize: 8 } }, 8],
  ])('%s', (_, cluster, domainSize) => {
    expect(open({ numAccelerators: 64, ...cluster }).cluster.scaleUp.domainSize).toBe(domainSize);
  });

  test('machines without NICs can’t be joined', () => {
    expect(refusal({ accelerator: 'rtx-4090', numAccelerators: 16 })).toMatchObject({
      path: 'cluster.scaleOut.nicsPerAccelerator',
      remedy: expect.stringContaining('at most 8') as string,
    });
    const joined = {
      accelerator: 'rtx-4090',
      numAccelerators: 16,
      scaleOut: { nicsPerAccelerator: 1, bandwidthGbps: 25 },
    };
    expect(open(joined).cluster.scaleOut.bandwidthGbps).toBe(25);
  });

  test('a network of several nodes needs bandwidth', () => {
    const { issues } = refusal({ accelerator: 'h100', numAccelerators: 64, scaleOut: { bandwidthGbps: 0 } });
    expect(issues).toEqual([
      {
        path: 'cluster.scaleOut.bandwidthGbps',
        message:
          'must be above 0, found 0: 64 accelerators need a network beyond the 8 that scale-up links or one node join',
        remedy: 'Give the Gb/s of a NIC, e.g. 400, or use at most 8 accelerators.',
      },
    ]);
  });

  test('levels of the network come from the preset', () => {
    const { tiers } = open({ preset: 'llama3-24k-h100' }).cluster.scaleOut;
    expect(tiers).toMatchObject([{ accelerators: 16 }, { accelerators: 3072, oversubscription: 7, latencyUs: 20 }]);
    expect(open({ accelerator: 'h100', numAccelerators: 64 }).cluster.scaleOut.tiers).toEqual([]);
  });
});

test('an accelerator file of the first version, without the newer figures, is still read', () => {
  const [first] = presets.accelerators;
  const old: Record<string, unknown> = { ...first };
  for (const key of ['announced', 'similarTo', 'bestMatmulTflops', 'hostLinkKind', 'hostMemoryGiB'])
    Reflect.deleteProperty(old, key);
  old['peakTflops'] = { bf16: 312, fp16: 312, fp8: null, fp32: 19.5 };
  old['scaleUp'] = { domainSize: 8, kind: 'switched', bandwidthGBps: 300 };
  expect(acceleratorSchema.parse(old)).toMatchObject({
    peakTflops: { fp4: null, tf32: null, int8: null },
    scaleUp: { linkGBps: null },
    ...{ announced: false, similarTo: null, bestMatmulTflops: null, hostLinkKind: 'pcie', hostMemoryGiB: null },
  });
});
