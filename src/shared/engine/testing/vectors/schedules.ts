/** Section 6: pipeline schedules, by simulation and in closed form. */
import { dualPipeBubble } from '../../pipeline/schedules/dual-pipe.ts';
import {
  schedules,
  type PipelineSeconds,
  type PipelineShape,
  type Schedule,
  type StageSeconds,
} from '../../pipeline/schedules/index.ts';
import { stageTimes } from '../../pipeline/schedules/simulated.ts';
import { peakActivations, simulate, type SimulatedPipeline } from '../../pipeline/simulate.ts';
import { throughputWithBubble } from '../../planning/index.ts';
import { missOf, numbersOf, pick, relativeError, type Answer, type Numbers, type Vector } from './vectors.ts';

const families: Readonly<Record<string, Schedule>> = {
  gpipe: schedules.gpipe,
  '1f1b': schedules['1f1b'],
  interleaved: schedules['interleaved-1f1b'],
  zbH1: schedules['zb-h1'],
  zbH2: schedules['zb-h2'],
  zbv: schedules['zb-v'],
  dualpipe: schedules.dualpipe,
  dualpipev: schedules['dualpipe-v'],
};

function scheduleOf({ id }: Vector): Schedule {
  const schedule = families[id.split('.')[0] ?? ''];
  if (schedule === undefined) throw new Error(`no schedule for ${id}`);
  return schedule;
}

/** Pipeline shape and times per rank. DualPipeV's vectors give the times of one of two chunks. */
function runOf(vector: Vector): { shape: PipelineShape; stage: StageSeconds; units: number } {
  const inputs = numbersOf(vector);
  const { tf = 0, tb_input: tb = inputs['tb'] ?? 0, tw = 0 } = inputs;
  const isChunk = vector.id.startsWith('dualpipev');
  const units = isChunk ? 2 : 1;
  const pp = pick(inputs, 'p', 'ranks');
  const vpp = /^(zbv|dualpipev)/.test(vector.id) ? 2 : (inputs['v'] ?? 1);
  const all = (value: number) => new Array<number>(pp).fill(units * value);
  return {
    shape: { pp, numMicroBatches: pick(inputs, 'm'), vpp },
    stage: {
      perRank: all(tf + tb + tw),
      forwardPerRank: all(tf),
      weightGradientPerRank: all(tw),
      pairFactor: inputs['t_FB'] === undefined ? 1 : inputs['t_FB'] / (tf + tb + tw),
      send: inputs['c'] ?? 0,
      isSendHidden: true,
    },
    units,
  };
}

const total = ({ busy, bubble, sends }: PipelineSeconds) => busy + bubble + sends;

interface Answered {
  simulated: SimulatedPipeline;
  seconds: PipelineSeconds;
  peaks: number[];
  vector: Vector;
}

/** Simulates a vector, and puts the closed form beside it. */
function answer(vector: Vector): Answered {
  const schedule = scheduleOf(vector);
  const { shape, stage, units } = runOf(vector);
  const order = schedule.order(shape);
  // the V and DualPipe vectors count no weight gradient's share
  const share = /^(zbv|dual)/.test(vector.id) ? 0 : 0.5;
  const perRank = vector.id.startsWith('dual') ? 1 : shape.vpp / units;
  const peaks = Array.from(peakActivations(order, share), (peak) => peak / perRank);
  return {
    simulated: simulate(order, stageTimes(order, stage)),
    seconds: schedule.seconds(shape, stage),
    peaks,
    vector,
  };
}

/** Values by the names that the vectors use. */
function valueOf(vector: Vector): unknown {
  const { simulated, seconds, peaks } = answer(vector);
  const { makespan, cost, idle } = simulated;
  if (typeof vector.expected === 'number') return makespan;
  const inputs = numbersOf(vector);
  const ideal =
    pick(inputs, 'm') * ((inputs['tf'] ?? 0) + (inputs['tb_input'] ?? inputs['tb'] ?? 0) + (inputs['tw'] ?? 0));
  const half = peaks.length / (vector.id.startsWith('dualpipe.') ? 2 : 1);
  return {
    makespan,
    cost,
    ideal,
    bubble_over_ideal: seconds.bubble / seconds.busy,
    idle_fraction: seconds.bubble / total(seconds),
    peak: peaks.slice(0, half),
    peak_MB1_MW05: peaks,
    idle: Array.from(idle.slice(0, half)),
    bubble_formula: bubbleFormula(inputs),
  };
}

function bubbleFormula({ p = 1, tf = 0, tb_input = 0, tw = 0, t_FB = 0 }: Numbers): number {
  return dualPipeBubble(p / 2, { forward: tf, inputGradient: tb_input, weightGradient: tw, pair: t_FB });
}

/** The simulated value, and a closed form that agrees with it to 1e-9 (DualPipe's is the simulation). */
function judge(vector: Vector, value: unknown): string | null {
  const { simulated, seconds } = answer(vector);
  const gap = relativeError(total(seconds), simulated.makespan);
  if (gap > 1e-9) return `${vector.id}: closed form ${total(seconds)}, simulation ${simulated.makespan}`;
  return missOf(vector, value);
}

function uneven(vector: Vector): unknown {
  const tf = vector.inputs['tf'] as number[];
  const tb = vector.inputs['tb'] as number[];
  const perRank = tf.map((time, rank) => time + (tb[rank] ?? 0));
  const stage = { perRank, forwardPerRank: tf, weightGradientPerRank: tf.map(() => 0), send: 0, isSendHidden: true };
  const shape = { pp: tf.length, numMicroBatches: numbersOf(vector)['m'] ?? 1, vpp: 1 };
  const makespan = (schedule: Schedule) => {
    const order = schedule.order(shape);
    return simulate(order, stageTimes(order, stage)).makespan;
  };
  return {
    f1b1: makespan(schedules['1f1b']),
    gpipe: total(schedules.gpipe.seconds(shape, stage)),
    simulatedGpipe: makespan(schedules.gpipe),
    bound: total(schedules['1f1b'].seconds(shape, stage)),
  };
}

function unevenFault(vector: Vector, value: unknown): string | null {
  const { f1b1, gpipe, simulatedGpipe, bound } = value as Record<'f1b1' | 'gpipe' | 'simulatedGpipe' | 'bound', number>;
  if (Math.abs(gpipe - simulatedGpipe) > 1e-9 * gpipe)
    return `${vector.id}: GPipe ${gpipe}, simulated ${simulatedGpipe}`;
  return bound < f1b1 - 1e-9 * f1b1 ? `${vector.id}: bound ${bound} below ${f1b1}` : missOf(vector, value);
}

function bubbleRatio(inputs: Numbers): number {
  const shape = { pp: pick(inputs, 'PP'), numMicroBatches: pick(inputs, 'M'), vpp: pick(inputs, 'V') };
  const perRank = new Array<number>(shape.pp).fill(1);
  const { busy, bubble } = schedules['interleaved-1f1b'].seconds(shape, { perRank, send: 0, isSendHidden: true });
  return bubble / busy;
}

export const scheduleAnswers: readonly Answer[] = [
  {
    ids: /^(gpipe|1f1b|interleaved|zbH1|zbH2|zbv|dualpipe|dualpipev)\./,
    by: 'Schedule.order, simulate, peakActivations, Schedule.seconds',
    value: valueOf,
    judge,
  },
  { ids: /^uneven\./, by: 'simulate, Schedule.seconds', value: uneven, judge: unevenFault },
  { ids: /^llama3\.bubble$/, by: 'Schedule.seconds', value: (vector) => bubbleRatio(numbersOf(vector)) },
  {
    ids: /^sc21\.fig11\.check$/,
    by: 'throughputWithBubble',
    value: (vector) => {
      const { X1 = 1, m = 1, p = 1 } = numbersOf(vector);
      return throughputWithBubble(X1, m, p);
    },
  },
];
