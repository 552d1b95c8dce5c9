import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { resolveParameters, withFactor, type Context, type Level, type Parameters } from './effects.ts';
import { effectsOf, fitFactors, parametersOf, type FitCase } from './fit.ts';
import { solvePositiveDefinite } from './linear-algebra.ts';

const base: Parameters = {
  matmulSlowdown: 1,
  attentionSlowdown: 1,
  memoryEfficiency: 0.8,
  scaleUpEfficiency: 1,
  scaleOutEfficiency: 0.8,
  hostLaunchSeconds: 1e-5,
  stepOverheadSeconds: 0.03,
  optimizerEfficiency: 0.7,
};
const context: Context = { stack: 'nemo', accelerator: 'h100-80gb-sxm', precision: 'bf16', kind: 'dense' };

interface Shape {
  /** Seconds of matmuls, of traffic between nodes, both at the base. */
  matmul: number;
  traffic: number;
}

/** A step of two parts: what each parameter changes is known by hand. */
const timeOf =
  ({ matmul, traffic }: Shape) =>
  (parameters: Parameters) =>
    matmul * parameters.matmulSlowdown +
    (traffic * base.scaleOutEfficiency) / parameters.scaleOutEfficiency +
    parameters.stepOverheadSeconds;

function caseOf(shape: Shape, truth: Parameters, change: Partial<FitCase> = {}): FitCase {
  const predict = timeOf(shape);
  const group = JSON.stringify([shape, change.context]);
  return { context, base, group, source: 'a', measuredSeconds: predict(truth), predict, ...change };
}

const shapes: Shape[] = [0.2, 0.5, 1, 2, 4, 8].flatMap((matmul) =>
  [0.05, 0.3, 1].map((share) => ({ matmul, traffic: matmul * share })),
);
const levels: Level[] = [
  { quantity: 'matmulSlowdown', scope: ['stack'], deviation: 1 },
  { quantity: 'scaleOutEfficiency', scope: ['accelerator'], deviation: 1 },
];
const slower = { ...base, matmulSlowdown: 1.2, scaleOutEfficiency: 0.5 };

describe('the fit', () => {
  test('finds the factors that made the rows', () => {
    const factors = fitFactors(
      shapes.map((shape) => caseOf(shape, slower)),
      levels,
    );
    const found = parametersOf({ base, context }, levels, factors);
    expect(found.matmulSlowdown).toBeCloseTo(1.2, 3);
    expect(found.scaleOutEfficiency).toBeCloseTo(0.5, 3);
  });

  test('one outlier does not wreck it', () => {
    const cases = shapes.map((shape) => caseOf(shape, slower));
    cases[4] = { ...cases[4]!, measuredSeconds: cases[4]!.measuredSeconds * 3 };
    const found = parametersOf({ base, context }, levels, fitFactors(cases, levels));
    expect(found.matmulSlowdown).toBeGreaterThan(1.19);
    expect(found.matmulSlowdown).toBeLessThan(1.22);
  });

  test('a narrow prior holds against one row and yields to many', () => {
    const narrow: Level[] = [{ quantity: 'matmulSlowdown', scope: ['stack'], deviation: 0.01 }];
    const at = (count: number) => {
      const cases = Array.from({ length: count }, (_, row) =>
        caseOf({ matmul: 1 + row / 10, traffic: 0 }, { ...base, matmulSlowdown: 1.2 }),
      );
      return Math.exp([...fitFactors(cases, narrow).values()][0]!);
    };
    expect(at(1)).toBeLessThan(1.02);
    expect(at(300)).toBeGreaterThan(1.1);
  });

  test('rows of one configuration count as √n rows', () => {
    const one = caseOf(shapes[3]!, slower);
    const other = caseOf(shapes[9]!, { ...slower, matmulSlowdown: 0.9 });
    const share = (copies: number) =>
      fitFactors([...Array.from({ length: copies }, () => one), other], levels.slice(0, 1)).get(
        'matmulSlowdown;stack=nemo',
      )!;
    expect(share(16)).toBeGreaterThan(share(1));
    expect(share(16)).toBeLessThan(Math.log(1.2) + 0.05);
  });

  test('scopes keep their own factors; effects say how many rows they rest on', () => {
    const ofBridge = { ...context, stack: 'megatron-bridge' };
    const cases = shapes.flatMap((shape) => [
      caseOf(shape, { ...base, matmulSlowdown: 1.1 }),
      caseOf(shape, { ...base, matmulSlowdown: 0.9 }, { context: ofBridge }),
    ]);
    const effects = effectsOf(cases, levels.slice(0, 1), fitFactors(cases, levels.slice(0, 1)));
    expect(effects.map(({ scope, rows }) => [scope, rows])).toEqual([
      [{ stack: 'megatron-bridge' }, shapes.length],
      [{ stack: 'nemo' }, shapes.length],
    ]);
    expect(resolveParameters(base, effects, context).matmulSlowdown).toBeCloseTo(1.1, 2);
    expect(resolveParameters(base, effects, ofBridge).matmulSlowdown).toBeCloseTo(0.9, 2);
    expect(resolveParameters(base, effects, { ...context, stack: 'deepspeed' })).toEqual(base);
  });

  test('is deterministic, and refuses a row without a prediction', () => {
    const cases = shapes.map((shape) => caseOf(shape, slower));
    expect(fitFactors(cases, levels)).toEqual(fitFactors(cases, levels));
    expect(() => fitFactors([{ ...cases[0]!, predict: () => 0 }], levels)).toThrow(RangeError);
  });
});

describe('effects', () => {
  test('a factor on compute slows matmuls, attention and memory alike', () => {
    const changed = withFactor(base, 'compute', 1.25);
    expect(changed).toMatchObject({ matmulSlowdown: 1.25, attentionSlowdown: 1.25, scaleUpEfficiency: 1 });
    expect(changed.memoryEfficiency).toBeCloseTo(0.64, 12);
  });

  test('a share of a rate stays at or below 1', () => {
    expect(withFactor(base, 'memoryEfficiency', 5).memoryEfficiency).toBe(1);
    expect(withFactor(base, 'stepOverheadSeconds', 50).stepOverheadSeconds).toBeCloseTo(1.5, 12);
  });
});

test('property: Cholesky solves what was multiplied', () => {
  const value = fc.double({ min: -3, max: 3, noNaN: true });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(value, value, value), { minLength: 3, maxLength: 3 }),
      fc.tuple(value, value, value),
      (rows, x) => {
        // A = RᵀR + I is positive definite for any R
        const matrix = [0, 1, 2].map((i) =>
          Float64Array.from([0, 1, 2].map((j) => rows.reduce((sum, row) => sum + row[i]! * row[j]!, i === j ? 1 : 0))),
        );
        const right = Float64Array.from(matrix.map((row) => row.reduce((sum, entry, j) => sum + entry * x[j]!, 0)));
        for (const [i, solved] of solvePositiveDefinite(matrix, right).entries()) expect(solved).toBeCloseTo(x[i]!, 6);
      },
    ),
  );
  expect(() => solvePositiveDefinite([Float64Array.of(-1)], Float64Array.of(1))).toThrow(RangeError);
});
