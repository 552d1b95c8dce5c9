import type { MemoryCategory } from '../../schema/index.ts';

/** Bytes by what they are, for one item of a category. */
export interface MemoryItem {
  category: MemoryCategory;
  label: string;
  bytes: number;
  source: string;
}
