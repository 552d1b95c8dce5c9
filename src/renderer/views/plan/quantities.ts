/** Numbers that went into a formula, as a person reads them. */
import type { Quantity } from '#shared/schema/index.ts';
import {
  formatBandwidth,
  formatBytes,
  formatFlopCount,
  formatFlops,
  formatNumber,
  formatPercent,
  formatSeconds,
} from '#shared/units.ts';

const formats: Readonly<Record<string, (value: number) => string>> = {
  s: formatSeconds,
  B: formatBytes,
  'B/s': formatBandwidth,
  FLOP: formatFlopCount,
  'FLOP/s': formatFlops,
  fraction: formatPercent,
  ratio: (value) => `× ${formatNumber(value, 4)}`,
};

/** A quantity in its unit's usual form; counts are written out in full. */
export function formatQuantity({ value, unit }: Quantity): string {
  const format = formats[unit];
  if (format !== undefined) return format(value);
  const count = Number.isInteger(value) ? value.toLocaleString('en-US') : formatNumber(value, 4);
  return unit === '' ? count : `${count} ${unit}`;
}
