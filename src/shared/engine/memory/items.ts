/** Items of memory and where they go: summed up, which is quick, or listed with their labels. */
import type { MemoryCategory, Plan } from '../../schema/index.ts';
import type { Problem } from '../problem.ts';
import type { RankContent } from '../stages.ts';
import type { RankParameters } from '../workload/parameters.ts';

/**
 * Who counts an item: absent = the framework's allocator as allocated (`max_memory_allocated`); `reserved` = only what it
 * has reserved; `device` = only the device itself (`nvidia-smi`), because others than the allocator hold it.
 */
export type SeenBy = 'reserved' | 'device';

/** Bytes by what they are, for one item of a category. */
export interface MemoryItem {
  category: MemoryCategory;
  label: string;
  bytes: number;
  source: string;
  seenBy?: SeenBy;
}

/** What the items of one stage follow from. */
export interface StageHolding {
  problem: Problem;
  plan: Plan;
  rank: RankContent;
  /** What the rank trains. */
  held: RankParameters;
  /** What it holds without training it: the base model under LoRA, a frozen tower. */
  frozen: RankParameters;
}

/** A label, or what makes it of the micro-batches in flight: words are only wanted in a list. */
export type Label = string | ((inFlight: number) => string);

/** Takes the items of a stage. Items of 0 bytes may be left out. */
export interface MemorySink {
  add(category: MemoryCategory, bytes: number, label: Label, source: string): void;
  /** An item that is there once for each micro-batch in flight; `bytes` of one. */
  addPerMicroBatch(category: MemoryCategory, bytes: number, label: Label, source: string): void;
}

const zero = (): Record<MemoryCategory, number> => ({
  weights: 0,
  gradients: 0,
  optimizer: 0,
  activations: 0,
  workspace: 0,
});

/** Sums by category: what is there anyway, and what each micro-batch in flight adds. */
export class MemorySum implements MemorySink {
  readonly fixed = zero();
  readonly perMicroBatch = zero();
  totalFixed = 0;
  totalPerMicroBatch = 0;

  add(category: MemoryCategory, bytes: number): void {
    this.fixed[category] += bytes;
    this.totalFixed += bytes;
  }

  addPerMicroBatch(category: MemoryCategory, bytes: number): void {
    this.perMicroBatch[category] += bytes;
    this.totalPerMicroBatch += bytes;
  }

  /** All bytes with so many micro-batches in flight. */
  totalBytes(inFlight: number): number {
    return this.totalFixed + inFlight * this.totalPerMicroBatch;
  }
}

/** The sum of all items that do not depend on micro-batches in flight, where two sets of items are compared. */
export class MemoryTotal implements MemorySink {
  bytes = 0;

  add(_category: MemoryCategory, bytes: number): void {
    this.bytes += bytes;
  }

  addPerMicroBatch(category: MemoryCategory): void {
    throw new Error(`${category} of each micro-batch in flight in a sum of what is there once`);
  }
}

/** The items themselves, with so many micro-batches in flight. */
export class MemoryList implements MemorySink {
  readonly items: MemoryItem[] = [];
  readonly #inFlight: number;

  constructor(inFlight: number) {
    this.#inFlight = inFlight;
  }

  add(category: MemoryCategory, bytes: number, label: Label, source: string): void {
    if (bytes <= 0) return;
    this.items.push({ category, bytes, label: typeof label === 'string' ? label : label(this.#inFlight), source });
  }

  addPerMicroBatch(category: MemoryCategory, bytes: number, label: Label, source: string): void {
    this.add(category, bytes * this.#inFlight, label, source);
  }
}
