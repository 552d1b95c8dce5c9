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
  toProblem,
  type Problem,
} from '#shared/engine/index.ts';
import { figuresOf } from '#shared/engine/evaluate.ts';
import { fullestStage } from '#shared/engine/memory/index.ts';
import { firstBrokenRule } from '#shared/engine/rules/index.ts';
import { planAt, spaceOf } from '#shared/engine/search/space.ts';
import { StepModel } from '#shared/engine/step/index.ts';
import { calibration, exampleIds, firstLightText, presets } from '#shared/engine/testing/catalog.ts';
import { exampleProblem } from '#shared/engine/testing/problems.ts';
import { attentionAnswer, collectiveAnswer, matmulAnswer } from '#shared/engine/testing/vectors/index.ts';
import { vectorLines } from '#shared/engine/testing/vectors/report.ts';
import { stepAnswers } from '#shared/engine/testing/vectors/steps.ts';
import { presetScenario } from '#shared/formats/preset.ts';
import { parseRunsText } from '#shared/formats/runs/index.ts';
import { findAccelerator, type Plan } from '#shared/schema/index.ts';
import { validateRuns } from '../src/main/services/validation.ts';
import { measure, type Bench, type Measurement, type Spread } from './measure.ts';

const TOP = 20;

/** Every plan of the problem's space that the rules accept, whether or not it fits. */
function validPlans(problem: Problem): Plan[] {
  const { outer, templates } = spaceOf(problem);
  return outer
    .flatMap((point) => templates.map((template) => planAt(problem, template, point)))
    .filter((plan) => firstBrokenRule(problem, plan) === null);
}

/** What is evaluated: the ready examples, and a model with experts. */
const evaluated: Readonly<Record<string, () => Problem>> = {
  ...Object.fromEntries(exampleIds.map((id) => [id, () => exampleProblem(id)])),
  'deepseek-v3': () => {
    const { scenario } = presetScenario('preset:deepseek-v3@2048xh800-80gb-sxm', { ...presets, examples: [] });
    return toProblem(scenario, findAccelerator(presets, scenario.cluster.accelerator), calibration);
  },
};

/** Most plans that one run evaluates, spread evenly over the space. */
const MOST_PLANS = 4000;
const MOST_TREES = 200;

const spread = <T>(items: readonly T[], most: number): T[] =>
  items.filter((_, index) => index % Math.ceil(items.length / most) === 0);

function evaluationBenches(id: string, problem: Problem): Bench[] {
  const plans = spread(validPlans(problem), MOST_PLANS);
  const some = spread(plans, MOST_TREES);
  const model = new StepModel(problem);
  return [
    {
      name: `evaluate ${id}`,
      about:
        `rules, step time with all its parts, memory of every stage by category and the summary of ${plans.length} valid ` +
        'plans of the space, one by one',
      things: { count: plans.length, unit: 'plans/s' },
      run: () => {
        for (const plan of plans) if (firstBrokenRule(problem, plan) === null) figuresOf(model, plan);
      },
    },
    {
      name: `step+memory ${id}`,
      about: 'of the same plans only the step time and the fullest stage, without rules and summary',
      things: { count: plans.length, unit: 'plans/s' },
      run: () => {
        for (const plan of plans) {
          model.cost(plan);
          fullestStage(problem, plan);
        }
      },
    },
    {
      name: `tell ${id}`,
      about: `the same and every part as a tree that opens into formula, numbers and source, and what would save memory; ${some.length} plans`,
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

const roundedSpread = ({ median, min, max }: Spread): Spread => ({
  median: digits(median),
  min: digits(min),
  max: digits(max),
});

function rounded({ seconds, cpuSeconds, perSecond, ...rest }: Measurement): Measurement {
  const times = { seconds: roundedSpread(seconds), cpuSeconds: roundedSpread(cpuSeconds) };
  if (perSecond === undefined) return { ...rest, ...times };
  return { ...rest, ...times, perSecond: { unit: perSecond.unit, ...roundedSpread(perSecond) } };
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

/** Most microseconds that one evaluation may take, as issue 3 asks. */
const EVALUATION_TARGET = 20;

function evaluationLines(results: readonly Measurement[]): string[] {
  const evaluations = results.filter(({ name, perSecond }) => name.startsWith('evaluate ') && perSecond !== undefined);
  return [
    `One evaluation of a plan with all its parts, one core, warm (target ${EVALUATION_TARGET} µs): time on cores, and by the clock`,
    ...evaluations.map(({ name, seconds, cpuSeconds, perSecond }) => {
      const clock = 1e6 / (perSecond?.median ?? 0);
      const cpu = clock * (cpuSeconds.median / seconds.median);
      return `  ${name.slice(9)}: ${cpu.toFixed(1)} µs, ${clock.toFixed(1)} µs`;
    }),
  ];
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
  const evaluations = Object.entries(evaluated).flatMap(([id, problem]) => evaluationBenches(id, problem()));
  const benches = [...evaluations, ...exampleIds.map(searchBench), validateBench()];
  const results = benches.map((bench) => {
    const measured = rounded(measure(bench, effort));
    console.log(`${measured.name}: ${measured.about}`);
    return measured;
  });
  console.log(`\n${table(results)}\n`);
  console.log(`${evaluationLines(results).join('\n')}\n`);
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
