/**
 * The only place that turns a number with a unit into text and back.
 *
 * Conventions: GB = 10^9 bytes, GiB = 2^30 bytes, Gb/s = 10^9 bit/s per direction, TFLOP/s = 10^12 FLOP/s, one
 * multiply-add = 2 FLOP. Inside the code every quantity is in SI base units (bytes, seconds, FLOP/s, bytes/s).
 */

export const GB = 1e9;
export const MIB = 2 ** 20;
export const GIB = 2 ** 30;
export const TERA = 1e12;
export const SECONDS_PER_HOUR = 3600;
export const SECONDS_PER_DAY = 86_400;

interface Scale {
  factor: number;
  unit: string;
}

const timeScales: readonly Scale[] = [
  { factor: SECONDS_PER_DAY, unit: 'days' },
  { factor: SECONDS_PER_HOUR, unit: 'h' },
  { factor: 60, unit: 'min' },
  { factor: 1, unit: 's' },
  { factor: 1e-3, unit: 'ms' },
  { factor: 1e-6, unit: 'µs' },
  { factor: 1e-9, unit: 'ns' },
];
const countScales: readonly Scale[] = [
  { factor: 1e12, unit: 'T' },
  { factor: 1e9, unit: 'B' },
  { factor: 1e6, unit: 'M' },
  { factor: 1e3, unit: 'k' },
];

/** `value` with about three significant digits and thousands separators: 1 234, 12.3, 0.123. */
export function formatNumber(value: number, digits = 3): string {
  if (value === 0) return '0';
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  const decimals = Math.min(12, Math.max(0, digits - 1 - magnitude));
  return value.toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits: decimals });
}

/** Seconds as text in the unit that a person would pick: 12.3 s, 4.5 ms, 84 days. */
export function formatSeconds(seconds: number): string {
  if (seconds === 0) return '0 s';
  const size = Math.abs(seconds);
  // hours start at 2 h and minutes at 2 min, so that step times near a minute or an hour stay comparable
  const scale = timeScales.find((s) => size >= (s.factor >= 60 ? 2 * s.factor : s.factor)) ?? {
    factor: 1e-9,
    unit: 'ns',
  };
  return `${formatNumber(seconds / scale.factor)} ${scale.unit}`;
}

/** Days as text: 31.4 days, 1 day, 5.2 h below a day. */
export function formatDays(days: number): string {
  if (days < 1) return formatSeconds(days * SECONDS_PER_DAY);
  return `${formatNumber(days)} ${days === 1 ? 'day' : 'days'}`;
}

/** Bytes as GiB (or B to TiB where that reads better); device memory is always binary here. */
export function formatBytes(bytes: number): string {
  const size = Math.abs(bytes);
  if (size < 1024) return `${formatNumber(bytes)} B`;
  if (size < MIB / 10) return `${formatNumber(bytes / 1024)} KiB`;
  if (size >= 1024 * GIB) return `${formatNumber(bytes / (1024 * GIB))} TiB`;
  if (size >= GIB / 10) return `${formatNumber(bytes / GIB)} GiB`;
  return `${formatNumber(bytes / 2 ** 20)} MiB`;
}

/** Bytes per second as decimal GB/s. */
export function formatBandwidth(bytesPerSecond: number): string {
  return `${formatNumber(bytesPerSecond / GB)} GB/s`;
}

/** A plain count in the field's short form: 405B, 1.01T, 15.6T, 3,072 below a million. */
export function formatCount(count: number, digits = 3): string {
  if (Math.abs(count) < 1e6) return formatNumber(count, Math.max(digits, 6));
  // 999.9M reads 1B, not 1,000M
  const rounded = Number(count.toPrecision(digits));
  const scale = countScales.find((s) => Math.abs(rounded) >= s.factor) ?? { factor: 1, unit: '' };
  return `${formatNumber(rounded / scale.factor, digits)}${scale.unit}`;
}

/** FLOP/s in TFLOP/s, PFLOP/s or EFLOP/s. */
export function formatFlops(flopsPerSecond: number): string {
  if (flopsPerSecond >= 1e18) return `${formatNumber(flopsPerSecond / 1e18)} EFLOP/s`;
  if (flopsPerSecond >= 1e15) return `${formatNumber(flopsPerSecond / 1e15)} PFLOP/s`;
  return `${formatNumber(flopsPerSecond / TERA)} TFLOP/s`;
}

/** A number of FLOP (work, not a rate) in TFLOP, PFLOP, EFLOP or ZFLOP. */
export function formatFlopCount(flops: number): string {
  if (flops >= 1e21) return `${formatNumber(flops / 1e21)} ZFLOP`;
  if (flops >= 1e18) return `${formatNumber(flops / 1e18)} EFLOP`;
  if (flops >= 1e15) return `${formatNumber(flops / 1e15)} PFLOP`;
  return `${formatNumber(flops / TERA)} TFLOP`;
}

/** Money with its currency code's symbol where one is usual: $4.13M, €820k, CHF 95. */
export function formatMoney(amount: number, currency: string): string {
  const symbol = { USD: '$', EUR: '€', GBP: '£', JPY: '¥', CNY: '¥' }[currency] ?? `${currency} `;
  const short = amount >= 10_000 ? formatCountShort(amount) : formatNumber(amount, amount >= 100 ? 4 : 3);
  return `${symbol}${short}`;
}

function formatCountShort(amount: number): string {
  const scale = countScales.find((s) => amount >= s.factor) ?? { factor: 1, unit: '' };
  return `${formatNumber(amount / scale.factor)}${scale.unit}`;
}

/** A fraction as a percentage: 46.3 %. */
export function formatPercent(fraction: number): string {
  return `${formatNumber(fraction * 100)} %`;
}

const inUnit: Readonly<Record<string, (value: number) => string>> = {
  s: formatSeconds,
  days: formatDays,
  h: (value) => `${formatNumber(value, 4)} h`,
  B: formatBytes,
  'B/s': formatBandwidth,
  FLOP: formatFlopCount,
  'FLOP/s': formatFlops,
  fraction: formatPercent,
  points: (value) => `${formatNumber(Math.round(value * 1e4) / 100)} points`,
  ratio: (value) => `× ${formatNumber(value, 4)}`,
  kWh: formatEnergy,
};

/** Energy from kilowatt-hours: 840 kWh, 12.3 MWh, 4.1 GWh. */
export function formatEnergy(kwh: number): string {
  if (kwh >= 1e6) return `${formatNumber(kwh / 1e6)} GWh`;
  return kwh >= 1e3 ? `${formatNumber(kwh / 1e3)} MWh` : `${formatNumber(kwh)} kWh`;
}

/** A value in its unit's usual form; counts are written out in full, a currency code makes it money. */
export function formatIn(value: number, unit: string): string {
  const format = inUnit[unit];
  if (format !== undefined) return format(value);
  if (/^[A-Z]{3}$/.test(unit)) return formatMoney(value, unit);
  const count = Number.isInteger(value) && value < 1e9 ? value.toLocaleString('en-US') : formatPlain(value);
  return unit === '' ? count : `${count} ${unit}`;
}

const formatPlain = (value: number): string =>
  Math.abs(value) >= 1e6 ? formatCount(value, 4) : formatNumber(value, 4);

const suffixFactor: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, b: 1e9, g: 1e9, t: 1e12 };

/**
 * A count as people type it: "3072", "3,072", "1.5T", "450B tokens", "450e9", "2 k". Returns null where the text is
 * not a non-negative number; never guesses (a comma that groups no thousands may be a decimal one).
 */
export function parseCount(text: string): number | null {
  const match =
    /^\s*((?:\d{1,3}(?:[\s,_]\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:e\+?(\d+))?\s*([kmbgt]?)(?:\s*(?:tokens?|params?|parameters))?\s*$/i.exec(
      text,
    );
  if (match === null) return null;
  const digits = (match[1] ?? '').replace(/[\s,_]/g, '');
  const value = Number(digits) * 10 ** Number(match[2] ?? 0) * (suffixFactor[(match[3] ?? '').toLowerCase()] ?? 1);
  return Number.isFinite(value) ? value : null;
}
