/** Numbers in text boxes: shown exactly, and read back as the same number. */
import { formatNumber, parseCount } from '#shared/units.ts';

/** As `parseCount`, and negative numbers too: what is wrong with those is for the checks to say. */
export function parseNumber(text: string): number | null {
  const minus = /^\s*[-−]\s*(.+)$/.exec(text);
  const value = parseCount(minus?.[1] ?? text);
  return value === null || minus === null ? value : -value;
}

/** Digits with separators, exact: what `parseCount` reads back as the same number. */
export function showNumber(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 12 });
}
/** 450B where that says it exactly, else all digits. */
export function showCount(value: number): string {
  if (value < 1e6) return showNumber(value);
  for (const [factor, suffix] of [
    [1e12, 'T'],
    [1e9, 'B'],
    [1e6, 'M'],
  ] as const) {
    if (value < factor) continue;
    const short = `${formatNumber(value / factor, 5).replaceAll(',', '')}${suffix}`;
    if (parseCount(short) === value) return short;
  }
  return showNumber(value);
}
export function parsePercent(text: string): number | null {
  const value = parseNumber(text.replace(/%\s*$/, ''));
  return value === null ? null : Number((value / 100).toPrecision(12));
}
export function showPercent(fraction: number): string {
  return showNumber(Number((fraction * 100).toPrecision(12)));
}
