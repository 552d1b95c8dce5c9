/** A number of an estimate with its source and what it is made of, whatever its unit. */
import type { MemoryPart, Quantity, TimePart } from '#shared/schema/index.ts';

export interface Part {
  label: string;
  size: number;
  source: string;
  formula?: string | undefined;
  inputs?: readonly Quantity[] | undefined;
  children: readonly Part[];
}

export function partOfTime({ label, seconds, source, formula, inputs, children }: TimePart): Part {
  return { label, size: seconds, source, formula, inputs, children: children.map(partOfTime) };
}

export function partOfMemory({ label, bytes, source, children }: MemoryPart): Part {
  return { label, size: bytes, source, children: children.map(partOfMemory) };
}
