/**
 * Fits the few constants that kernels do not fix to whole measured runs, and reports the error on runs left out.
 *
 *   node tools/fit-step-time/index.ts RUNS.json [RUNS.json …] [--check MORE.json] -o resources/calibration/step-time.json
 *
 * Deterministic. Rows that the record flags, of quality C or D, or that the planner does not model are left out with
 * the reason printed. Rows of one model, accelerator and split weigh together as one, so that a table that repeats a
 * configuration over ten cluster sizes does not outvote the others. Held-out error: leave one source out.
 * Rows of `--check` are never fitted: they and the rows left out by source set the interval.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { quantile, summarizeErrors } from '../../src/shared/engine/calibration/statistics.ts';
import { completePlan, toCalibration, toProblem, type Problem } from '../../src/shared/engine/index.ts';
import type { KernelCurves } from '../../src/shared/engine/kernels/index.ts';
import { firstBrokenRule } from '../../src/shared/engine/rules/index.ts';
import { StepModel } from '../../src/shared/engine/step/index.ts';
import { parseRunsText, readRun } from '../../src/shared/formats/runs/index.ts';
import {
  acceleratorSchema,
  calibrationFileSchema,
  findAccelerator,
  parameterNames,
  resolveScenario,
  type CalibrationFile,
  type ParameterName,
  type Plan,
  type Run,
} from '../../src/shared/schema/index.ts';
import { fitParameters } from '../fit-kernels/least-squares.ts';

interface Case {
  id: string;
  source: string;
  group: string;
  problem: Problem;
  plan: Plan;
  measuredSeconds: number;
}

const root = path.resolve(import.meta.dirname, '../..');
const readJson = (file: string): unknown => JSON.parse(readFileSync(path.join(root, file), 'utf8'));

const calibrationPath = 'resources/calibration/step-time.json';
const previous: CalibrationFile = calibrationFileSchema.parse(readJson(calibrationPath));
const kernels = readJson('resources/calibration/kernels.json') as KernelCurves;
const calibration = toCalibration(previous, kernels);
const hardware = 'resources/catalog/hardware';
const accelerators = readdirSync(path.join(root, hardware)).map((name) =>
  acceleratorSchema.parse(readJson(`${hardware}/${name}`)),
);
const presets = { accelerators, models: [], clusters: [] };

function counts(run: Run): boolean {
  return (run.quality === 'A' || run.quality === 'B') && (run.flags ?? []).length === 0;
}

function toCase(run: Run): Case | string {
  if (!counts(run)) return 'flagged, or quality C or D';
  const measuredSeconds = run.measured.step_s;
  if (measuredSeconds == null) return 'no step time';
  const reading = readRun(run, presets);
  if ('skipped' in reading) return reading.skipped;
  const scenario = resolveScenario(reading.case.scenario, presets);
  const problem = toProblem(scenario, findAccelerator(presets, scenario.cluster.accelerator), calibration);
  const plan = completePlan(problem, reading.case.plan);
  const broken = firstBrokenRule(problem, plan);
  if (broken !== null) return `breaks the rule ${broken}`;
  const { model, parallel, cluster } = run;
  const group = [
    model.name,
    cluster.gpu,
    parallel.tp,
    parallel.pp,
    parallel.vp,
    parallel.mbs,
    parallel.recompute,
    run.source?.title,
  ];
  return { id: run.id, source: run.source?.title ?? 'unknown', group: group.join('/'), problem, plan, measuredSeconds };
}

function readCases(files: readonly string[]): Case[] {
  const cases = new Map<string, Case>();
  const skipped = new Map<string, number>();
  for (const run of files.flatMap((file) => parseRunsText(readFileSync(file, 'utf8'), file))) {
    const found = toCase(run);
    if (typeof found === 'string') skipped.set(found, (skipped.get(found) ?? 0) + 1);
    else cases.set(run.id, found);
  }
  for (const [reason, count] of skipped) console.log(`left out ${String(count).padStart(4)}: ${reason}`);
  return [...cases.values()];
}

function withParameters(values: readonly number[]): Record<ParameterName, number> {
  return Object.fromEntries(parameterNames.map((name, i) => [name, values[i] ?? Number.NaN])) as Record<
    ParameterName,
    number
  >;
}

function predict({ problem, plan }: Case, parameters: Record<ParameterName, number>): number {
  return new StepModel({ ...problem, calibration: { ...calibration, parameters } }).cost(plan).stepSeconds;
}

/** A parameter whose prior is 0 is fitted on a log scale from this floor. */
const FLOOR = 1e-7;
/** Rows of one source share its stack, its clock and its habits: together they count as so many observations. */
const OBSERVATIONS_PER_SOURCE = 4;
/** Scale at which a residual stops counting fully, in the fit's own units (least-squares.ts). */
const RESIDUAL_SCALE = 0.05;

/** Each source weighs alike, and within it each configuration. */
function weightsOf(cases: readonly Case[]): number[] {
  const sizes = new Map<string, number>();
  const groups = new Map<string, Set<string>>();
  for (const { group, source } of cases) {
    sizes.set(group, (sizes.get(group) ?? 0) + 1);
    groups.set(source, (groups.get(source) ?? new Set()).add(group));
  }
  return cases.map(
    ({ group, source }) => OBSERVATIONS_PER_SOURCE / (groups.get(source)?.size ?? 1) / (sizes.get(group) ?? 1),
  );
}

/**
 * The most probable constants given the rows and the priors. A prior is log-normal; its bounds are two standard
 * deviations either way, so a constant moves only as far as the rows can say.
 */
function fit(cases: readonly Case[]): Record<ParameterName, number> {
  const parameters = parameterNames.map((name) => {
    const { prior, low, high } = previous.parameters[name];
    return { name, start: Math.max(prior, FLOOR), lower: Math.max(low, FLOOR), upper: high };
  });
  const deviations = parameters.map(({ lower, upper }) => Math.log(upper / lower) / 4);
  const residuals = (values: readonly number[]): Float64Array => {
    const set = withParameters(values);
    const rows = cases.map((one) => Math.log(predict(one, set) / one.measuredSeconds));
    const pulls = parameters.map(
      ({ start }, i) => (RESIDUAL_SCALE * Math.log((values[i] ?? start) / start)) / (deviations[i] ?? 1),
    );
    return Float64Array.from([...rows, ...pulls]);
  };
  const weights = Float64Array.from([...weightsOf(cases), ...parameters.map(() => 1)]);
  return withParameters(fitParameters({ parameters, residuals, weights }));
}

const errorOf = (one: Case, parameters: Record<ParameterName, number>): number =>
  predict(one, parameters) / one.measuredSeconds - 1;

const round = (value: number | null, digits = 4): number => Number((value ?? 0).toFixed(digits));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { output: { type: 'string', short: 'o' }, check: { type: 'string', multiple: true, default: [] } },
});
const cases = readCases(positionals);
const priors = withParameters(parameterNames.map((name) => previous.parameters[name].prior));
const fitted = fit(cases);
const sources = [...new Set(cases.map((one) => one.source))];
const heldOut = sources.flatMap((source) => {
  const others = fit(cases.filter((one) => one.source !== source));
  return cases.filter((one) => one.source === source).map((one) => ({ one, error: errorOf(one, others) }));
});

const report = (label: string, errors: number[]): void => {
  const { count, mape, medianApe, p90Ape, bias } = summarizeErrors(errors);
  const percent = (value: number | null) => `${(100 * (value ?? 0)).toFixed(1)} %`.padStart(8);
  console.log(
    `${label.padEnd(52)} n ${String(count).padStart(3)}  MAPE ${percent(mape)}  median ${percent(medianApe)}  p90 ${percent(p90Ape)}  bias ${percent(bias)}`,
  );
};
report(
  'priors only',
  cases.map((one) => errorOf(one, priors)),
);
report(
  'fitted, in sample',
  cases.map((one) => errorOf(one, fitted)),
);
report(
  'leave one source out',
  heldOut.map(({ error }) => error),
);
for (const source of sources) {
  const own = heldOut.filter(({ one }) => one.source === source);
  report(
    `  in sample: ${source.slice(0, 40)}`,
    own.map(({ one }) => errorOf(one, fitted)),
  );
  report(
    `  left out: ${source.slice(0, 40)}`,
    own.map(({ error }) => error),
  );
}
for (const name of parameterNames) console.log(name.padEnd(24), previous.parameters[name].prior, '→', fitted[name]);

const inSample = summarizeErrors(cases.map((one) => errorOf(one, fitted)));
const outside = summarizeErrors(heldOut.map(({ error }) => error));
const fittedIds = new Set(cases.map(({ id }) => id));
const unseen = readCases(values.check).filter(({ id }) => !fittedIds.has(id));
const unseenErrors = unseen.map((one) => errorOf(one, fitted));
report('never fitted (--check)', unseenErrors);
for (const [kind, isKind] of [
  ['dense', (one: Case) => one.problem.model.moe === null],
  ['experts', (one: Case) => one.problem.model.moe !== null],
] as const)
  report(
    `  ${kind}`,
    unseen.filter(isKind).map((one) => errorOf(one, fitted)),
  );
const ratios = [...heldOut.map(({ error }) => error), ...unseenErrors].map((error) => 1 / (1 + error));
const dates = new Date().toISOString().slice(0, 10);
const result: CalibrationFile = {
  ...previous,
  date: dates,
  description:
    'Constants that measured kernels do not fix, fitted by robust least squares with priors to whole runs; ' +
    'regenerate with tools/fit-step-time.',
  parameters: Object.fromEntries(
    parameterNames.map((name) => [
      name,
      {
        ...previous.parameters[name],
        value: fitted[name],
        source: `${cases.length} measured runs of ${sources.length} sources, weighted by configuration`,
      },
    ]),
  ) as CalibrationFile['parameters'],
  error: {
    inSample: { rows: inSample.count, mape: round(inSample.mape) },
    heldOut: {
      rows: outside.count,
      mape: round(outside.mape),
      medianApe: round(outside.medianApe),
      folds: `leave one of ${sources.length} sources out`,
    },
  },
  stepTimeBand: {
    low: round(quantile(ratios, 0.05)),
    high: round(quantile(ratios, 0.95)),
    rows: ratios.length,
    basis: `step time: 5th to 95th percentile of ${ratios.length} measured runs that the constants were not fitted to`,
  },
};
if (values.output !== undefined) writeFileSync(values.output, `${JSON.stringify(result, null, 2)}\n`);
