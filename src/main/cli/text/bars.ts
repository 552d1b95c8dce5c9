import { clip, widthOf } from './table.ts';

/** One bar: its length is `value` on the scale of the chart, its figure is `text`. */
export interface Bar {
  label: string;
  value: number;
  text: string;
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar of `length` characters, to an eighth of one; a value above zero is never invisible. */
function drawBar(length: number): string {
  const eighths = length > 0 ? Math.max(1, Math.round(length * 8)) : 0;
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}

/**
 * Horizontal bars under each other on one scale, labels left, figures right. With `limit`, a mark shows where it is.
 */
export function formatBars(bars: readonly Bar[], width: number, limit?: number): string {
  const most = Math.max(limit ?? 0, ...bars.map(({ value }) => value));
  if (most <= 0) return '';
  const labelWidth = Math.min(Math.max(...bars.map(({ label }) => widthOf(label))), Math.floor(width * 0.4));
  const textWidth = Math.max(...bars.map(({ text }) => widthOf(text)));
  const room = Math.max(8, width - labelWidth - textWidth - 4);
  const markAt = limit === undefined ? -1 : Math.round((limit / most) * (room - 1));
  const lines = bars.map(({ label, value, text }) => {
    const bar = Array.from(drawBar((value / most) * room).padEnd(room));
    if (markAt >= 0 && bar[markAt] === ' ') bar[markAt] = '│';
    return `${clip(label, labelWidth).padEnd(labelWidth)}  ${bar.join('')}  ${text.padStart(textWidth)}`;
  });
  return `${lines.join('\n')}\n`;
}
