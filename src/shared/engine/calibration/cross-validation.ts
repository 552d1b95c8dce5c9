/**
 * Fits the constants to measured runs and says how far they are off on runs that they were not fitted to.
 *
 * Three situations: the stack was measured (rows of the same configuration stay together, five folds); nothing of a
 * source was measured (one source left out at a time); three of a source's rows on an accelerator are given. Whole
 * accelerators and frameworks are left out as well. Source: MEASURE; MODEL §9.
 */
import type { CalibrationFile, Effect, ParameterName, SituationError } from '../../schema/index.ts';
import { profileLevels, stackLevels, withFactor, type Context, type Level, type Parameters } from './effects.ts';
import { effectsOf, fitFactors, parametersOf, type FitCase, type LogFactors } from './fit.ts';
import { fewGiven, groupedFolds, leaveOneOut, type Fold } from './folds.ts';
import type { FoldKind, FoldSummary, HeldOut, MeasuredCase } from './measured.ts';
import { rankingOf, type RankingSummary } from './ranking.ts';
import { bandsOf, evidenceOf, foldRows, situationErrors } from './summary.ts';

export interface CrossValidation {
  parameters: Parameters;
  effects: Effect[];
  errors: SituationError[];
  stepTimeBands: CalibrationFile['stepTimeBands'];
  evidence: CalibrationFile['evidence'];
  /** Errors by fold of every division, for the report. */
  folds: FoldSummary[];
  ranking: RankingSummary;
  heldOut: Record<FoldKind, HeldOut[]>;
}

/** Priors and bounds of the parameters, as the calibration file has them. */
export type ParameterPriors = Readonly<Record<ParameterName, { prior: number; low: number; high: number }>>;

/** Bounds of a parameter lie so many standard deviations of its log-normal prior away: kernels come first, runs second. */
const BOUND_DEVIATIONS = 4;
/** Iterations of a fold's fit, which starts from the fit to all rows. */
const FOLD_ITERATIONS = 5;
const ROWS_GIVEN = 3;
const FEWEST_TO_GIVE = 6;
const SEEDS = 10;

/** What holds for every stack: the parameters themselves. */
export function sharedLevels(priors: ParameterPriors): Level[] {
  return Object.entries(priors).map(([name, { low, high }]): Level => ({
    quantity: name as ParameterName,
    scope: [],
    deviation: Math.log(high / low) / (2 * BOUND_DEVIATIONS),
  }));
}

const priorParameters = (priors: ParameterPriors) =>
  Object.fromEntries(Object.entries(priors).map(([name, { prior }]) => [name, prior])) as Parameters;

/** A profile of one's own cluster: effects for any scope, over the parameters that hold there already. */
export function fitProfile(cases: readonly FitCase[]): Effect[] {
  return effectsOf(cases, profileLevels, fitFactors(cases, profileLevels));
}

class Calibrator {
  readonly #levels: Level[];
  readonly #base: Parameters;

  constructor(priors: ParameterPriors) {
    this.#levels = [...sharedLevels(priors), ...stackLevels];
    this.#base = priorParameters(priors);
  }

  fit(cases: readonly MeasuredCase[], start?: LogFactors): LogFactors {
    return fitFactors(this.based(cases), this.#levels, start ? { start, iterations: FOLD_ITERATIONS } : {});
  }

  based = (cases: readonly MeasuredCase[]): (MeasuredCase & FitCase)[] =>
    cases.map((one) => ({ ...one, base: this.#base }));

  parametersOf(one: { context: Context }, factors: LogFactors): Parameters {
    return parametersOf({ context: one.context, base: this.#base }, this.#levels, factors);
  }

  heldOut(one: MeasuredCase, factors: LogFactors, fold: string): HeldOut {
    const { id, kind, measuredSeconds } = one;
    return { id, kind, fold, measuredSeconds, predictedSeconds: one.predict(this.parametersOf(one, factors)) };
  }

  predictFolds(folds: readonly Fold<MeasuredCase>[], start: LogFactors): HeldOut[] {
    return folds.flatMap(({ key, train, test }) => {
      const factors = this.fit(train, start);
      return test.map((one) => this.heldOut(one, factors, key));
    });
  }

  effects(cases: readonly MeasuredCase[], factors: LogFactors): { parameters: Parameters; effects: Effect[] } {
    const all = effectsOf(this.based(cases), this.#levels, factors);
    const isShared = ({ scope }: Effect) => Object.keys(scope).length === 0;
    const shared = all
      .filter(isShared)
      .reduce((known, { quantity, factor }) => withFactor(known, quantity, factor), this.#base);
    const parameters = Object.fromEntries(
      Object.entries(shared).map(([name, value]) => [name, Number(value.toPrecision(4))]),
    ) as Parameters;
    return { parameters, effects: all.filter((effect) => !isShared(effect)) };
  }
}

/** Three rows of each source on each accelerator calibrate a profile over what the other sources gave; the rest is predicted. */
function fewRowsGiven(
  calibrator: Calibrator,
  folds: readonly Fold<MeasuredCase>[],
  { start, rowsGiven }: { start: LogFactors; rowsGiven: number },
): HeldOut[] {
  return folds.flatMap(({ key, train, test }) => {
    const parts = [...Map.groupBy(test, ({ context }) => context.accelerator)];
    const large = parts.filter(([, rows]) => rows.length >= Math.max(FEWEST_TO_GIVE, 2 * rowsGiven));
    if (large.length === 0) return [];
    const factors = calibrator.fit(train, start);
    return large.flatMap(([accelerator, rows]) => {
      const local = rows.map((one) => ({ ...one, base: calibrator.parametersOf(one, factors) }));
      return Array.from({ length: SEEDS }, (_, seed) => {
        const { given, rest } = fewGiven(local, rowsGiven, seed);
        const profile = fitFactors(given, profileLevels);
        return rest.map((one): HeldOut => ({
          id: one.id,
          kind: one.kind,
          fold: `${key} on ${accelerator}`,
          measuredSeconds: one.measuredSeconds,
          predictedSeconds: one.predict(parametersOf(one, profileLevels, profile)),
        }));
      }).flat();
    });
  });
}

/** Members of a group share a source, so that one set of constants predicts them all. */
function rankedBySource(cases: readonly MeasuredCase[], rows: readonly HeldOut[]): RankingSummary {
  const groupOf = new Map(cases.map(({ id, rankGroup }) => [id, rankGroup]));
  return rankingOf(
    rows.flatMap(({ id, predictedSeconds, measuredSeconds }) => {
      const group = groupOf.get(id) ?? null;
      return group === null ? [] : [{ group, predictedSeconds, measuredSeconds }];
    }),
  );
}

function bandsOfAll({ grouped, source, accelerator }: CrossValidation['heldOut']): CalibrationFile['stepTimeBands'] {
  return [
    ...bandsOf('covered', grouped, 'each predicted by constants fitted to other configurations'),
    ...bandsOf('new-source', source, 'each predicted by constants fitted to other sources'),
    ...bandsOf(
      'new-accelerator',
      [...accelerator, ...source],
      'each predicted by constants fitted to other accelerators or sources',
    ),
  ];
}

export interface CalibrateOptions {
  /** Rows given of a new source in the third situation. */
  rowsGiven?: number;
  /** Hears what begins. */
  onStage?: (stage: FoldKind) => void;
}

/** Fits and cross-validates. `cases` need at least two sources. About a minute for a thousand rows on one core; deterministic. */
export function calibrate(
  cases: readonly MeasuredCase[],
  priors: ParameterPriors,
  { rowsGiven = ROWS_GIVEN, onStage = () => undefined }: CalibrateOptions = {},
): CrossValidation {
  const calibrator = new Calibrator(priors);
  onStage('in-sample');
  const factors = calibrator.fit(cases);
  const inSample = cases.map((one) => calibrator.heldOut(one, factors, 'all'));
  const sources = leaveOneOut(cases, ({ source }) => source);
  const heldOutBy = (by: FoldKind, folds: readonly Fold<MeasuredCase>[]) => {
    onStage(by);
    return calibrator.predictFolds(folds, factors);
  };
  const divided = {
    'in-sample': inSample,
    grouped: heldOutBy(
      'grouped',
      groupedFolds(cases, ({ group }) => group),
    ),
    source: heldOutBy('source', sources),
    accelerator: heldOutBy(
      'accelerator',
      leaveOneOut(cases, ({ context }) => context.accelerator),
    ),
    framework: heldOutBy(
      'framework',
      leaveOneOut(cases, ({ context }) => context.stack),
    ),
  };
  onStage('few');
  const heldOut = { ...divided, few: fewRowsGiven(calibrator, sources, { start: factors, rowsGiven }) };
  return {
    ...calibrator.effects(cases, factors),
    evidence: evidenceOf(cases),
    errors: [
      ...situationErrors('covered', heldOut.grouped, 'five folds, rows of one configuration together'),
      ...situationErrors('new-source', heldOut.source, `one of ${sources.length} sources left out`),
      ...situationErrors('few-rows-given', heldOut.few, `one source left out but ${rowsGiven} of its rows, ten draws`),
      ...situationErrors('new-accelerator', heldOut.accelerator, 'one accelerator left out'),
    ],
    stepTimeBands: bandsOfAll(heldOut),
    folds: (Object.keys(heldOut) as FoldKind[]).flatMap((by) => foldRows(by, heldOut[by])),
    ranking: rankedBySource(cases, heldOut.source),
    heldOut,
  };
}
