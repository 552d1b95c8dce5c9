/** The measured runs that the first release is judged by, and the run behind it all. */
import { describe, expect, test } from 'vitest';
import { evaluatePlan, mergeSlices, searchSlice, toProblem, type Problem } from '#shared/engine/index.ts';
import { calibration, firstLightText, presets } from '#shared/engine/testing/catalog.ts';
import { exampleProblem } from '#shared/engine/testing/problems.ts';
import { parseRunsText, readRun } from '#shared/formats/runs/index.ts';
import { findAccelerator, resolveScenario, type Estimate, type Run } from '#shared/schema/index.ts';
import { validateRuns } from './validation.ts';

const runs = parseRunsText(firstLightText());
const report = validateRuns(runs, presets, calibration);

function estimateOf(run: Run): { problem: Problem; estimate: Estimate } {
  const reading = readRun(run, presets);
  if ('skipped' in reading) throw new Error(reading.skipped);
  const scenario = resolveScenario(reading.case.scenario, presets);
  const problem = toProblem(scenario, findAccelerator(presets, scenario.cluster.accelerator), calibration);
  const { estimate } = evaluatePlan(problem, reading.case.plan);
  if (estimate === null) throw new Error(`${run.id} is no valid plan`);
  return { problem, estimate };
}

const relative = (actual: number, expected: number) => Math.abs(actual / expected - 1);

describe('24 measured runs, one set of constants', () => {
  test('none is skipped', () => {
    expect(report.rows.filter((row) => row.skipped !== undefined)).toEqual([]);
    expect(report.summary).toMatchObject({ skipped: 0, stepTime: { count: 24 }, peakMemory: { count: 0, mape: null } });
  });

  test('step times are met with a mean error of at most 10 %', () => {
    expect(report.summary.stepTime.mape).toBeLessThanOrEqual(0.1);
  });

  // a ratchet: lower it when the fit gets better, and say so in the changelog
  test('and of at most 5 %, no row off by more than 15 %', () => {
    expect(report.summary.stepTime.mape).toBeLessThanOrEqual(0.05);
    const far = report.rows.filter((row) => Math.abs(row.errorFraction ?? 1) > 0.15);
    expect(far.map((row) => row.id)).toEqual([]);
  });

  test('errors are predicted ÷ measured − 1', () => {
    for (const { predicted, measured, errorFraction } of report.rows)
      expect(errorFraction).toBeCloseTo(predicted.stepSeconds! / measured.stepSeconds! - 1, 12);
  });

  test('groups cover all rows once in each dimension', () => {
    const { groups } = report.summary;
    const dimensions = [...new Set(groups.map(({ by }) => by))];
    expect(dimensions.sort()).toEqual(['accelerator', 'framework', 'kind', 'precision', 'source']);
    for (const dimension of dimensions) {
      const counts = groups.filter(({ by }) => by === dimension).map(({ stepTime }) => stepTime.count);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(24);
    }
    expect(groups.find(({ by }) => by === 'kind')).toMatchObject({ key: 'dense', stepTime: { count: 24 } });
  });
});

describe('FLOP conventions are not mixed up', () => {
  const sc21 = runs.filter((run) => run.id.startsWith('sc21'));
  const korthikanti = runs.filter((run) => run.measured.mfu != null);

  test.each(sc21.map((run) => [run.id, run] as const))(
    '%s: the printed TFLOP/s are those of hardware FLOPs, recomputation counted',
    (_, run) => {
      const { estimate, problem } = estimateOf(run);
      const rate = (flops: number) => flops / run.measured.step_s! / problem.network.numAccelerators / 1e12;
      // Table 1 prints whole TFLOP/s
      expect(relative(rate(estimate.hardwareFlops), run.measured.tflops_gpu!)).toBeLessThan(0.005);
      expect(relative(rate(estimate.modelFlops), run.measured.tflops_gpu!)).toBeGreaterThan(0.2);
    },
  );

  test.each(korthikanti.map((run) => [run.id, run] as const))(
    '%s: the measured time gives the printed MFU, and HFU by the paper’s count',
    (_, run) => {
      const { estimate } = estimateOf(run);
      const utilisation = (flops: number) => flops / run.measured.step_s! / estimate.peakFlopsPerSecond;
      expect(relative(utilisation(estimate.modelFlops), run.measured.mfu!)).toBeLessThan(0.006);
      // the paper adds core attention three times (its eq. 8); repeated once it is 1 to 3 % less
      const core = estimate.hardwareFlops - estimate.modelFlops;
      expect(relative(utilisation(estimate.modelFlops + 3 * core), run.measured.hfu!)).toBeLessThan(0.006);
      expect(utilisation(estimate.hardwareFlops)).toBeLessThan(run.measured.hfu!);
      expect(relative(utilisation(estimate.hardwareFlops), run.measured.hfu!)).toBeLessThan(0.035);
    },
  );

  test('four rows print both', () => {
    expect(korthikanti).toHaveLength(4);
  });
});

describe('a trillion parameters on 3,072 accelerators', () => {
  const problem = exampleProblem('gpt-1t');
  const slice = searchSlice(problem, { index: 0, total: 1, top: 20 });
  const result = mergeSlices(problem, [slice], 20, { seconds: 0, workers: 1 });
  const published = evaluatePlan(problem, problem.referencePlan!).estimate!;

  test('the published split takes about the 102.6 s and 84 days of the paper', () => {
    expect(relative(published.stepSeconds, 102.6)).toBeLessThan(0.1);
    expect(relative(published.days!, 84)).toBeLessThan(0.05);
  });

  test('a plan at least as fast is found', () => {
    expect(result.best[0]!.stepSeconds).toBeLessThanOrEqual(published.stepSeconds);
  });

  test('the published split is listed with its estimate and its rank', () => {
    expect(result.reference).toMatchObject({ label: 'published split' });
    expect(result.reference!.summary).toMatchObject({ stepSeconds: published.stepSeconds, verdict: 'fits' });
    expect(result.reference!.rank).toBeGreaterThanOrEqual(1);
  });
});

describe('rows that cannot be predicted', () => {
  const first = runs[0]!;

  test.each<[string, Partial<Run>, RegExp]>([
    ['nothing measured', { measured: {} }, /neither step time nor peak memory/],
    ['a time of nothing', { measured: { step_s: 0 } }, /neither step time nor peak memory/],
    ['a split that is not valid', { parallel: { ...first.parallel, tp: 5 } }, /tp/],
    ['sizes that are not sizes', { model: { ...first.model, hidden: -1 } }, /hiddenSize/],
    ['something not planned', { framework: 'NeuronX Distributed' }, /framework NeuronX Distributed/],
  ])('%s: skipped with the reason, never thrown', (_, change, reason) => {
    const { rows, summary } = validateRuns([{ ...first, ...change }, first], presets, calibration);
    expect(rows[0]?.skipped).toMatch(reason);
    expect(rows[0]).toMatchObject({ predicted: { stepSeconds: null }, errorFraction: null });
    expect(summary).toMatchObject({ skipped: 1, stepTime: { count: 1 } });
  });

  test('peak memory is compared where it was measured, in the unit that is stated', () => {
    const measured = { peak_mem_gb: 60, peak_mem_kind: 'max allocated, GiB' };
    const [row] = validateRuns([{ ...first, measured }], presets, calibration).rows;
    expect(row?.measured).toEqual({ stepSeconds: null, peakMemoryBytes: 60 * 2 ** 30 });
    expect(row?.errorFraction).toBeNull();
    expect(row?.memoryErrorFraction).toBeCloseTo(row!.predicted.peakMemoryBytes! / (60 * 2 ** 30) - 1, 12);
  });

  test('no rows give an empty report', () => {
    expect(validateRuns([], presets, calibration).summary).toMatchObject({ skipped: 0, stepTime: { mape: null } });
  });
});
