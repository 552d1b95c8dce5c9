/** A number of an estimate with its source and what it is made of, whatever its unit. */
import type { MemoryPart, TimePart } from '#shared/schema/index.ts';

export interface Part {
  label: string;
  size: number;
  source: string;
  children: readonly Part[];
}

export function partOfTime({ label, seconds, source, children }: TimePart): Part {
  return { label, size: seconds, source, children: children.map(partOfTime) };
}

export function partOfMemory({ label, bytes, source, children }: MemoryPart): Part {
  return { label, size: bytes, source, children: children.map(partOfMemory) };
}
