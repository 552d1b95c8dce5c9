import type { MemoryCategory } from '../../schema/index.ts';

/** Bytes by what they are, for one item of a category. */
export interface MemoryItem {
  category: MemoryCategory;
  label: string;
  bytes: number;
  source: string;
  /**
   * Who counts it: absent = the framework's allocator as allocated (`max_memory_allocated`); `reserved` = only what it has
   * reserved; `device` = only the device itself (`nvidia-smi`), because others than the allocator hold it.
   */
  seenBy?: 'reserved' | 'device';
}

/** A sum of bytes. */
export const bytesOf = (items: readonly MemoryItem[]): number => items.reduce((sum, { bytes }) => sum + bytes, 0);
