/** Measured memory of a record: which field, which meter, which unit. */
import type { CaseReading } from '#shared/formats/cases/index.ts';
import { GB, GIB } from '#shared/units.ts';
import type { MemoryComparison } from './types.ts';

export interface Measured {
  meter: MemoryComparison['meter'];
  bytes: number;
}

/** The largest of one or several readings (per rank, or first and last). */
function most(value: unknown): number | null {
  const list = (Array.isArray(value) ? value : [value]).filter((one): one is number => typeof one === 'number');
  return list.length === 0 ? null : Math.max(...list);
}

/**
 * What the record measured; null where nothing. `measured_alloc_gib` and `measured_reserved_gib` name their meter. Where
 * the field only says memory: torchtitan logs its pool, Megatron-Bridge and -Core their tensors (both in GiB printed as GB),
 * others the whole process.
 */
export function measuredOf({ row, framework }: CaseReading): Measured | null {
  const { outcome } = row;
  const allocated = most(outcome.measured_alloc_gib);
  if (allocated !== null) return { meter: 'allocated', bytes: allocated * GIB };
  const reserved = most(outcome.measured_reserved_gib);
  if (reserved !== null) return { meter: 'reserved', bytes: reserved * GIB };
  const gib = most(outcome.measured_gib);
  const gb = most(outcome.measured_gb);
  if (gib === null && gb === null) return null;
  const name = row.framework ?? '';
  const meter =
    framework.family === 'fsdp' ? 'reserved' : /bridge|megatron-core|nemo/i.test(name) ? 'allocated' : 'total';
  const isGiBPrintedAsGB = meter === 'allocated';
  return { meter, bytes: gib !== null ? gib * GIB : (gb ?? 0) * (isGiBPrintedAsGB ? GIB : GB) };
}

export function comparison(
  predictedBytes: number,
  meter: Measured['meter'],
  measured: Measured | null,
): MemoryComparison {
  const isComparable = measured !== null && measured.meter === meter;
  return {
    meter,
    predictedGiB: predictedBytes / GIB,
    measuredGiB: isComparable ? measured.bytes / GIB : null,
    errorFraction: isComparable ? predictedBytes / measured.bytes - 1 : null,
  };
}
