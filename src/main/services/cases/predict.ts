/** What happens to a configuration: refused by a rule, out of memory on device or host, or accepted. */
import type { CalibrationSet, Problem } from '#shared/engine/index.ts';
import { AppError } from '#shared/errors.ts';
import type { CaseReading } from '#shared/formats/cases/index.ts';
import { findAccelerator, resolveScenario, type Presets } from '#shared/schema/index.ts';
import { GIB } from '#shared/units.ts';
import { brokenRules, completePlan, evaluatePlan, meteredBytes, recipeLayout, toProblem } from '../../jobs/index.ts';
import { comparison, measuredOf } from './meters.ts';
import { brokenOptions } from './options.ts';
import { hostPrediction, rangePrediction } from './bounds.ts';
import type { MemoryComparison, Prediction, PreparedCase } from './types.ts';

const gib = (bytes: number) => `${(bytes / GIB).toFixed(1)} GiB`;

/** Resolves a row as it was read. Throws AppError where the planner does not take it. */
export function prepare(reading: CaseReading, presets: Presets, calibration: CalibrationSet): PreparedCase {
  const scenario = resolveScenario(reading.scenario, presets);
  const accelerator = findAccelerator(presets, scenario.cluster.accelerator);
  const problem = toProblem(scenario, accelerator, calibration);
  const { family, version, stack } = reading.framework;
  const asked = { ...problem, framework: { family, version, stack } };
  const layout = layoutOf(reading, asked);
  return { reading, problem: asked, plan: completePlan(asked, { ...reading.plan, ...layout }) };
}

/** Layers per stage as the row lists them. */
function listedLayout({ row }: CaseReading): string | null {
  const layers = row.model_overrides?.pipeline_layers;
  if (!Array.isArray(layers)) return null;
  return `E${layers.map((count) => 't'.repeat(Number(count))).join('|')}L`;
}

/**
 * The pipeline's layout: as the row lists it, or one that holds every layer where they do not divide. Reports of runs leave
 * the layout out; a row that is about validity means what it says.
 */
function layoutOf(reading: CaseReading, problem: Problem): { layout?: string } {
  const listed = listedLayout(reading);
  if (listed !== null) return { layout: listed };
  const { framework, row, plan } = reading;
  if (framework.family !== 'megatron-lm' || row.purpose === 'validity') return {};
  const numStages = (plan.pp ?? 1) * (plan.vpp ?? 1);
  const layout = recipeLayout(problem.model.numLayers, problem.model.mtpLayers, numStages);
  if (layout === null) return {};
  reading.assumed.push(`layout: ${layout} (the layers do not divide, and the row states no layout)`);
  return { layout };
}

const outcomes = { refused: 'rejected', 'loses-layers': 'silent_wrong', hangs: 'hang' } as const;

/** Rules that a configuration breaks; null where it breaks none. */
function ruled({ reading, problem, plan }: PreparedCase): Prediction | null {
  const broken = brokenRules(problem, plan, reading.known).filter(({ violation }) => violation.rule !== 'not-modelled');
  const options = brokenOptions(reading.row);
  if (broken.length === 0 && options.length === 0) return null;
  // a plan that is refused never comes to lose layers or to hang
  const consequences = broken.map(({ consequence }) => consequence);
  const worst = options.length > 0 || consequences.includes('refused') ? 'refused' : (consequences[0] ?? 'refused');
  const values = broken.map(({ violation: { message, path, legal, nearest } }) => {
    const list = legal.slice(0, 12).join(', ');
    return legal.length === 0 ? message : `${message} (${path} may be ${list}; nearest ${String(nearest)})`;
  });
  return {
    predicted: outcomes[worst],
    reason: [...options.map(({ rule, message }) => `${message} [${rule}]`), ...values].join('; '),
    violations: [
      ...options.map(({ rule, message }) => ({ rule, message, legal: [], nearest: null, path: 'options' })),
      ...broken.map(({ violation }) => violation),
    ],
  };
}

/** Peak of the fullest stage and what the record measured of it. */
function memoryOf({ reading, problem, plan }: PreparedCase, fullest: number): MemoryComparison {
  const measured = measuredOf(reading);
  const meter = measured?.meter ?? 'total';
  return comparison(meteredBytes(problem, plan, fullest)[meter], meter, measured);
}

/** Peak with everything recomputed. */
function withRecomputation({ problem, plan }: PreparedCase): number | null {
  const recompute = { mode: 'full' as const, modules: [], layersPerStage: null };
  return evaluatePlan(problem, { ...plan, recompute }).estimate?.peakMemoryBytes ?? null;
}

/**
 * Most of its pool that PyTorch's allocator was seen to waste between blocks: training with virtual pipeline stages and
 * recomputation, expandable segments off (Huang et al. 2026, arXiv 2507.16274, abstract).
 */
const MOST_WASTED_FRACTION = 0.43;

/** Bytes of the process with the most that an interleaved pipeline's gaps take; null where segments expand or do not mix. */
function mostWithGaps({ reading, problem, plan }: PreparedCase, stage: number): number | null {
  const isKnown = reading.plan.runtime?.expandableSegments !== undefined;
  if (isKnown || plan.vpp === 1 || reading.framework.family !== 'megatron-lm') return null;
  const { allocated, reserved, total } = meteredBytes(problem, plan, stage);
  return allocated / (1 - MOST_WASTED_FRACTION) + total - reserved;
}

function evaluated(prepared: PreparedCase): Prediction {
  const { problem, plan, reading } = prepared;
  const { estimate, verdict, violations } = evaluatePlan(problem, plan);
  if (estimate === null || verdict === null)
    return {
      predicted: 'not_predicted',
      reason: violations.map(({ message }) => message).join('; '),
    };
  const peaks = estimate.peakMemoryBytesByStage;
  const fullest = peaks.indexOf(Math.max(...peaks));
  const usable = problem.device.usableMemoryBytes;
  const memory = memoryOf(prepared, fullest);
  const where = plan.pp > 1 ? ` on stage ${fullest + 1} of ${plan.pp}` : '';
  const need = `needs ${gib(estimate.peakMemoryBytes)}${where} of ${gib(usable)} usable`;
  const common = { memory, isMeasuredVerdict: true };
  if (reading.accelerator === null)
    return { predicted: 'accepted', reason: `breaks no rule; ${need.replace(/ of .*/, '')}`, memory };
  const recomputed =
    verdict === 'out-of-memory' && !reading.known.has('plan.recompute') ? withRecomputation(prepared) : null;
  if (recomputed !== null && recomputed <= usable)
    return {
      predicted: 'depends',
      reason: `${need} without recomputation, ${gib(recomputed)} with all of it: the row does not state which`,
      ...common,
    };
  if (verdict === 'out-of-memory')
    return { predicted: 'oom', reason: `${need}: ${gib(estimate.peakMemoryBytes - usable)} too much`, ...common };
  const wasted = mostWithGaps(prepared, fullest);
  if (wasted !== null && wasted > usable)
    return {
      predicted: 'depends',
      reason: `${need}, but up to ${gib(wasted)} where gaps between blocks waste what they can in an interleaved pipeline: the row does not state the allocator’s setting`,
      ...common,
    };
  return { predicted: verdict === 'at-risk' ? 'at_risk' : 'fits', reason: need, ...common };
}

const unsupportedReason = (error: AppError) =>
  error.issues.length > 0 ? error.issues.map(({ message }) => message).join('; ') : error.message;

/** Rules with the precision and task that every version plans, where the row's own are not planned. */
function withoutUnplanned(reading: CaseReading): CaseReading {
  const { job } = reading.scenario;
  const plain = { ...job, task: 'pretrain' as const, precision: { compute: 'bf16' as const } };
  return { ...reading, scenario: { ...reading.scenario, job: plain } };
}

/** Predicts a row. Never throws for a bad one. */
export function predict(reading: CaseReading, presets: Presets, calibration: CalibrationSet): Prediction {
  let unplanned: string | null = reading.model.fault;
  let prepared: PreparedCase;
  try {
    prepared = prepare(reading, presets, calibration);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    unplanned ??= unsupportedReason(error);
    try {
      prepared = prepare(withoutUnplanned(reading), presets, calibration);
    } catch (again) {
      if (!(again instanceof AppError)) throw again;
      return { predicted: 'not_predicted', reason: unsupportedReason(again) };
    }
  }
  const broken = ruled(prepared);
  if (broken !== null) return broken;
  const host = hostPrediction(prepared);
  if (host !== null) return host;
  if (unplanned !== null) return { predicted: 'not_predicted', reason: unplanned };
  if (reading.framework.family === 'serving' || reading.framework.family === 'other')
    return { predicted: 'accepted', reason: 'breaks no rule; memory is judged for training frameworks only' };
  return reading.missing.length === 0 ? evaluated(prepared) : rangePrediction(prepared);
}
