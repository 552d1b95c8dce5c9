/** Rows that ask for a number: states, logits, GPU-hours, run time. Each formula is used where its inputs are stated. */
import type { CaseReading } from '#shared/formats/cases/index.ts';
import { GB, GIB } from '#shared/units.ts';
import type { Prediction } from './types.ts';

const HOURS_PER_WEEK = 168;
const HOURS_PER_DAY = 24;
/** Weights 2, gradients 4, optimizer 12: Adam in mixed precision (docs/MODEL.md §3.1). */
const STATE_BYTES = 18;

interface Formula {
  /** The answer against what the record says; null where an input is missing. */
  compute(reading: CaseReading, numberOf: (key: string) => number | null): { says: string; isClose: boolean } | null;
}

const close = (a: number, b: number, tolerance = 0.01) => Math.abs(a / b - 1) <= tolerance;
const scaled = (text: string | null | undefined): number | null => {
  const found = /~?\s*(\d+(?:\.\d+)?)\s*([BMT])\b/.exec(text ?? '');
  return found === null ? null : Number(found[1]) * { M: 1e6, B: 1e9, T: 1e12 }[found[2] as 'M' | 'B' | 'T'];
};

function parametersOf({ model, row }: CaseReading, parameters: number | null): number | null {
  return parameters ?? model.parameters ?? scaled(row.note);
}

const states = (parameters: number | null): Formula => ({
  compute: (reading, numberOf) => {
    const printed = numberOf('states_gib');
    const count = parametersOf(reading, parameters);
    if (printed === null || count === null || reading.numAccelerators === null) return null;
    const bytes = (STATE_BYTES * count) / reading.numAccelerators;
    return {
      says: `${STATE_BYTES} B × ${(count / 1e9).toFixed(1)} B parameters ÷ ${reading.numAccelerators} = ${(bytes / GB).toFixed(1)} GB = ${(bytes / GIB).toFixed(1)} GiB per accelerator; the record prints ${printed}`,
      isClose: close(bytes / GB, printed) || close(bytes / GIB, printed),
    };
  },
});

const logits: Formula = {
  compute: ({ row, model }, numberOf) => {
    const printed = numberOf('logits_fp32_gib');
    const vocab = model.stated.vocabSize;
    const { seq, mbs } = row.batch;
    if (printed === null || vocab === null || seq == null) return null;
    const tokens = seq * (mbs ?? 1);
    const bytes = (4 * tokens * vocab) / (row.parallel.tp ?? 1);
    return {
      says: `4 B × ${tokens} tokens × ${vocab} = ${(bytes / GIB).toFixed(3)} GiB of fp32 logits; the record prints ${printed}`,
      isClose: close(bytes / GIB, printed),
    };
  },
};

const acceleratorHours: Formula = {
  compute: ({ numAccelerators }, numberOf) => {
    const weeks = numberOf('weeks');
    const printed = numberOf('gpu_hours');
    if (weeks === null || printed === null || numAccelerators === null) return null;
    const hours = numAccelerators * weeks * HOURS_PER_WEEK;
    const budget = numberOf('budget_usd');
    const perHour =
      budget === null
        ? ''
        : `; the budget allows ${(budget / hours).toFixed(2)} USD an hour, so time binds and not money as long as prices are below that`;
    return {
      says: `${numAccelerators} × ${weeks} weeks = ${hours} accelerator-hours${perHour}`,
      isClose: close(hours, printed),
    };
  },
};

const runTime = (parameters: number | null): Formula => ({
  compute: (reading, numberOf) => {
    const tokens = numberOf('tokens');
    const weeks = numberOf('weeks');
    const days = numberOf('days') ?? (weeks === null ? null : weeks * 7);
    const count = parametersOf(reading, parameters);
    const peak = reading.hardware?.dense_bf16_tflops;
    if (tokens === null || days === null || reading.numAccelerators === null) return null;
    const seconds = days * HOURS_PER_DAY * 3600;
    const rate = tokens / seconds / reading.numAccelerators;
    const achieved = numberOf('tflops_gpu');
    if (achieved !== null && count !== null) {
      // 8 with everything computed once more in the backward pass (Narayanan et al. SC'21 eq. 4), 6 without
      const factor = /full/i.test(reading.row.recompute ?? '') ? 8 : 6;
      const computed = (factor * count * tokens) / (reading.numAccelerators * achieved * 1e12) / (HOURS_PER_DAY * 3600);
      return {
        says: `${factor}·P·T ÷ (n·X) = ${computed.toFixed(1)} days; the record says ${days}`,
        isClose: close(computed, days, 0.05),
      };
    }
    if (count === null || typeof peak !== 'number')
      return { says: `${rate.toFixed(0)} tokens/s per accelerator`, isClose: false };
    const utilisation = (6 * count * rate) / (peak * 1e12);
    return {
      says: `${rate.toFixed(0)} tokens/s per accelerator; 6·P·T needs ${(100 * utilisation).toFixed(0)} % of the dense peak over ${days} days`,
      isClose: utilisation > 0.05 && utilisation < 0.75,
    };
  },
});

/** The number of an arithmetic row, where its inputs are stated. `parameters` are counted from its layers. */
export function arithmetic(reading: CaseReading, parameters: number | null): Prediction & { isRight: boolean } {
  const numberOf = (key: string) => {
    const value = reading.row.outcome[key];
    return typeof value === 'number' ? value : null;
  };
  for (const formula of [states(parameters), logits, acceleratorHours, runTime(parameters)]) {
    const found = formula.compute(reading, numberOf);
    if (found !== null) return { predicted: 'computed', reason: found.says, isRight: found.isClose };
  }
  return { predicted: 'not_predicted', reason: 'no formula has all its inputs in the row', isRight: false };
}
