import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadCatalog } from './catalog.ts';
import { Planner } from './planner.ts';

const resourcesDir = path.resolve(import.meta.dirname, '../../../resources');
const planner = new Planner({ resourcesDir });
const { catalog } = planner;

/** How far a count may be off the printed one: half of the last digit that is printed. */
function roundingOf(printed: number): number {
  const zeros = /0*$/.exec(String(printed))?.[0].length ?? 0;
  return zeros < 5 ? 0 : 10 ** zeros / 2; // counts to the last parameter seldom end in zeros
}

describe('the shipped catalog', () => {
  test.each(catalog.models.map((preset) => [preset.id, preset] as const))(
    '%s has as many parameters as published',
    (_id, preset) => {
      const [example] = catalog.examples;
      const { parameters } = planner.preview({ ...example!.scenario, model: preset.model });
      expect(preset.publishedParameters).not.toBeNull();
      const published = preset.publishedParameters!;
      expect(Math.abs(parameters - published)).toBeLessThanOrEqual(roundingOf(published));
      expect(preset.model.preset).toBe(preset.id);
    },
  );

  test.each(catalog.accelerators.map((accelerator) => [accelerator.id, accelerator] as const))(
    'every figure of %s names its source',
    (_id, accelerator) => {
      const figures = Object.keys(accelerator).filter(
        (key) =>
          !/^(format|version|id|aliases|vendor|name|announced|kernelCurves|similarTo|acceleratorsPerNode|hostLinkKind|price|sources)$/.test(
            key,
          ),
      );
      const known = figures.filter((key) => accelerator[key as keyof typeof accelerator] !== null);
      expect(Object.keys(accelerator.sources)).toEqual(expect.arrayContaining(known));
      expect(accelerator.usableMemoryGiB).toBeLessThan(accelerator.memoryGiB);
      if (accelerator.price !== null) expect(accelerator.price.date).toMatch(/^\d{4}-\d\d-\d\d$/);
    },
  );

  test('kernel curves are there for each accelerator that names some', () => {
    const file = path.join(resourcesDir, 'calibration/kernels.json');
    const curves = JSON.parse(readFileSync(file, 'utf8')) as { accelerators: object };
    for (const { kernelCurves } of catalog.accelerators)
      if (kernelCurves !== null) expect(Object.keys(curves.accelerators)).toContain(kernelCurves);
  });

  test('each cluster makes a whole scenario', () => {
    for (const { id, cluster } of catalog.clusters) {
      const accelerator = catalog.accelerators.find((item) => item.id === cluster.accelerator);
      expect(
        planner.resolveValue({
          format: 'trainyard/scenario',
          version: 1,
          name: id,
          model: { preset: 'gpt-22b' },
          cluster: { preset: id },
          job: {
            globalBatchSize: 1024,
            seqLen: 2048,
            precision: { compute: accelerator?.peakTflops.bf16 === null ? 'fp16' : 'bf16' },
          },
        }).cluster,
      ).toMatchObject({ preset: id });
    }
  });

  test.each(catalog.examples.map((example) => [example.id, example] as const))(
    'the plan of %s is valid',
    (_id, { scenario, planLabel }) => {
      if (scenario.plan === null) return expect(planLabel).toBeNull();
      expect(planner.evaluate(scenario, scenario.plan)).toMatchObject({ violations: [], valid: true });
    },
  );
});

describe('loadCatalog', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(path.join(os.tmpdir(), 'trainyard-catalog-'));
    cpSync(resourcesDir, dir, { recursive: true });
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const file = () => path.join(dir, 'catalog/hardware/h100-80gb-sxm.json');
  const damaged = (reason: RegExp, where = file()) =>
    expect.objectContaining({ code: 'file-unreadable', path: where, message: expect.stringMatching(reason) });
  const change = (name: string, edit: object) => {
    const target = path.join(dir, name);
    writeFileSync(target, JSON.stringify({ ...JSON.parse(readFileSync(target, 'utf8')), ...edit }));
  };

  test('reads what is shipped', () => {
    expect(loadCatalog(dir)).toEqual(catalog);
  });
  test('names a file that is not JSON', () => {
    writeFileSync(file(), '{');
    expect(() => loadCatalog(dir)).toThrow(damaged(/JSON/));
  });
  test('names file and field of a wrong figure', () => {
    change('catalog/hardware/h100-80gb-sxm.json', { memoryGiB: -80 });
    expect(() => loadCatalog(dir)).toThrow(damaged(/memoryGiB.*found -80/));
  });
  test('a new accelerator is one file', () => {
    writeFileSync(
      path.join(dir, 'catalog/hardware/z.json'),
      JSON.stringify({ ...JSON.parse(readFileSync(file(), 'utf8')), id: 'h101', aliases: [] }),
    );
    expect(loadCatalog(dir).accelerators.map(({ id }) => id)).toContain('h101');
  });
  test('two accelerators may not share a name', () => {
    writeFileSync(
      path.join(dir, 'catalog/hardware/z.json'),
      JSON.stringify({ ...JSON.parse(readFileSync(file(), 'utf8')), id: 'h101', aliases: ['A100'] }),
    );
    expect(() => loadCatalog(dir)).toThrow(
      damaged(/a100 belongs to a100-80gb-sxm and to h101/, path.join(dir, 'catalog/hardware')),
    );
  });
  test('names a folder that is missing', () => {
    rmSync(path.join(dir, 'catalog/models'), { recursive: true });
    expect(() => loadCatalog(dir)).toThrow(damaged(/missing/, path.join(dir, 'catalog/models')));
  });
});
