/** What is measured, and how its results are written. Speed is compared over time by these figures, never in a test. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  countPlans,
  ENGINE_VERSION,
  evaluatePlan,
  mergeSlices,
  searchSlice,
  type Problem,
} from '#shared/engine/index.ts';
import { fullestStage } from '#shared/engine/memory/index.ts';
import { firstBrokenRule } from '#shared/engine/rules/index.ts';
import { planAt, spaceOf } from '#shared/engine/search/space.ts';
import { StepModel } from '#shared/engine/step/index.ts';
import { summarize } from '#shared/engine/summary.ts';
import { calibration, exampleIds, firstLightText, presets } from '#shared/engine/testing/catalog.ts';
import { exampleProblem } from '#shared/engine/testing/problems.ts';
import { attentionAnswer, collectiveAnswer, matmulAnswer } from '#shared/engine/testing/vectors/index.ts';
import { vectorLines } from '#shared/engine/testing/vectors/report.ts';
import { stepAnswers } from '#shared/engine/testing/vectors/steps.ts';
import { parseRunsText } from '#shared/formats/runs/index.ts';
import type { Plan } from '#shared/schema/index.ts';
import { validateRuns } from '../src/main/services/validation.ts';
import { measure, type Bench, type Measurement } from './measure.ts';

const TOP = 20;

/** Every plan of the problem's space that the rules accept, whether or not it fits. */
function validPlans(problem: Problem): Plan[] {
  const { outer, templates } = spaceOf(problem);
  return outer
    .flatMap((point) => templates.map((template) => planAt(problem, template, point)))
    .filter((plan) => firstBrokenRule(problem, plan) === null);
}

/** Step time, peak memory and what is compared: what a search computes of a plan that fits. */
function summaries(problem: Problem, plans: readonly Plan[]): number {
  const model = new StepModel(problem);
  let sum = 0;
  for (const plan of plans)
    sum += summarize(problem, plan, model.cost(plan), fullestStage(problem, plan).totalBytes).stepSeconds;
  return sum;
}

function evaluationBenches(id: string): Bench[] {
  const problem = exampleProblem(id);
  const plans = validPlans(problem);
  const some = plans.filter((_, index) => index % Math.ceil(plans.length / 200) === 0);
  return [
    {
      name: `summary ${id}`,
      about: `step time, peak memory and summary of the ${plans.length} valid plans of the space, layer costs from cold`,
      things: { count: plans.length, unit: 'plans/s' },
      run: () => summaries(problem, plans),
    },
    {
      name: `evaluate ${id}`,
      about: `evaluatePlan with all parts of ${some.length} valid plans`,
      things: { count: some.length, unit: 'plans/s' },
      run: () => some.forEach((plan) => evaluatePlan(problem, plan)),
    },
  ];
}

function searchBench(id: string): Bench {
  const problem = exampleProblem(id);
  const search = () => {
    const slice = searchSlice(problem, { index: 0, total: 1, top: TOP });
    return mergeSlices(problem, [slice], TOP, { seconds: 0, workers: 1 });
  };
  const { stats } = search();
  const memory = stats.prunedByReason['memory'] ?? 0;
  return {
    name: `search ${id}`,
    about:
      `${countPlans(problem)} plans covered on one thread: ${stats.evaluated} evaluated, ` +
      `${memory} ruled out by their memory, the rest by a rule; ${stats.feasible} feasible`,
    things: { count: stats.enumerated, unit: 'plans covered/s' },
    run: search,
  };
}

function validateBench(): Bench {
  const text = firstLightText();
  const { length } = parseRunsText(text);
  return {
    name: 'validate',
    about: `${length} measured runs from the text of their file to the report`,
    things: { count: length, unit: 'rows/s' },
    run: () => validateRuns(parseRunsText(text), presets, calibration),
  };
}

function commit(): string | null {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}

function machine() {
  const cpus = os.cpus();
  return {
    cpu: cpus[0]?.model ?? 'unknown',
    cores: cpus.length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.platform()} ${os.release()} ${os.arch()}`,
    /** Processes that wanted a core in the last minute before the first measurement. */
    load: Math.round((os.loadavg()[0] ?? 0) * 100) / 100,
  };
}

const digits = (value: number) => Number(value.toPrecision(4));

function rounded({ seconds, perSecond, ...rest }: Measurement): Measurement {
  const { median, min, max } = seconds;
  const times = { median: digits(median), min: digits(min), max: digits(max) };
  if (perSecond === undefined) return { ...rest, seconds: times };
  const rates = { median: digits(perSecond.median), min: digits(perSecond.min), max: digits(perSecond.max) };
  return { ...rest, seconds: times, perSecond: { unit: perSecond.unit, ...rates } };
}

function table(results: readonly Measurement[]): string {
  const number = (value: number) => value.toLocaleString('en-US', { maximumSignificantDigits: 4 });
  const milliseconds = (value: number) => number(value * 1000);
  const header = ['', 'median ms', 'min', 'max', 'rate (median)', 'repeats'];
  const rows = results.map(({ name, seconds, perSecond, repeats }) => [
    name,
    ...[seconds.median, seconds.min, seconds.max].map(milliseconds),
    perSecond === undefined ? '' : `${number(perSecond.median)} ${perSecond.unit}`,
    String(repeats),
  ]);
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  return [header, ...rows].map(line).join('\n');
}

/** How the engine stands against the planning model's 852 vectors. */
function modelLines(): string[] {
  return vectorLines({
    'matmul and attention kernels': [matmulAnswer, attentionAnswer],
    'collectives of one node': [collectiveAnswer],
    'whole steps and runs': stepAnswers,
  });
}

/** Measures everything, prints it and writes the dated result. */
export function runBench({ isQuick }: { isQuick: boolean }): void {
  const effort = isQuick ? { warmUpSeconds: 0.2, repeats: 3 } : { warmUpSeconds: 2, repeats: 15 };
  const about = {
    date: new Date().toISOString(),
    commit: commit(),
    engineVersion: ENGINE_VERSION,
    node: process.version,
  };
  const host = machine();
  console.log(`${host.cpu}, ${host.cores} cores, ${host.system}, Node ${process.version}, load ${host.load}`);
  if (host.load > 0.5) console.log('The machine is not idle: compare ratios within this run only.');
  const benches = [...exampleIds.flatMap(evaluationBenches), ...exampleIds.map(searchBench), validateBench()];
  const results = benches.map((bench) => {
    const measured = rounded(measure(bench, effort));
    console.log(`${measured.name}: ${measured.about}`);
    return measured;
  });
  console.log(`\n${table(results)}\n`);
  console.log(`Test vectors of the planning model\n${modelLines().join('\n')}\n`);
  if (isQuick) return console.log('Quick run: nothing written.');
  const folder = path.resolve(import.meta.dirname, 'results');
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${about.date.slice(0, 10)}.json`);
  const vectors = modelLines();
  const document = { format: 'trainyard/bench', version: 1, ...about, machine: host, effort, results, vectors };
  writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
  console.log(`Written to ${path.relative(process.cwd(), file)}`);
}
