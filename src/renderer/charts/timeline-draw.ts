/** Draws the pipeline of a step: a row per stage, a box per pass, time to the right. Gaps are the bubble. */
import type { PassKind, Timeline, TimelineRank } from '#shared/schema/index.ts';
import { formatSeconds } from '#shared/units.ts';
import type { ChartTable } from './base-option.ts';
import { readableOn, type ChartTheme } from './theme.ts';

/** As the schema numbers them; here too, so that the schemas stay out of the page's first download. */
const PASSES: readonly PassKind[] = ['forward', 'backward', 'input-gradient', 'weight-gradient', 'pair'];
export const passNames: Readonly<Record<PassKind, string>> = {
  forward: 'Forward',
  backward: 'Backward',
  'input-gradient': 'Input gradient',
  'weight-gradient': 'Weight gradient',
  pair: 'Forward and backward together',
};
const COLOR_OF: Readonly<Record<PassKind, number>> = {
  forward: 0,
  backward: 3,
  'input-gradient': 3,
  'weight-gradient': 2,
  pair: 4,
};

/** The part of the step that is on screen, seconds. */
export interface Span {
  from: number;
  to: number;
}

export const LABEL_WIDTH = 64;
const AXIS_HEIGHT = 26;
/** From this width a box has an edge and room for its micro-batch's number. */
const NUMBER_WIDTH = 22;
const EDGE_WIDTH = 4;

export function rowHeight(rows: number): number {
  return rows <= 8 ? 30 : rows <= 16 ? 22 : rows <= 32 ? 16 : 12;
}
export const timelineHeight = (rows: number): number => rows * rowHeight(rows) + AXIS_HEIGHT;

/** The passes that a timeline holds, in the order of the legend. */
export function passesOf({ ranks }: Timeline): PassKind[] {
  const seen = new Set(ranks.flatMap(({ kinds }) => [...new Set(kinds)]));
  return PASSES.filter((_, index) => seen.has(index));
}

export const passColor = (kind: PassKind, theme: ChartTheme): string =>
  theme.categories[COLOR_OF[kind]] ?? theme.accent;

/** Index of the first operation that ends after `time`. */
function firstAfter({ ends }: TimelineRank, time: number): number {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] ?? 0) > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The operation at a time of a rank; null in a bubble. */
export function operationAt(rank: TimelineRank, time: number): number | null {
  const index = firstAfter(rank, time);
  const start = rank.starts[index];
  return start !== undefined && start <= time ? index : null;
}

/** A round step between ticks so that about `most` of them fit. */
export function tickStep(range: number, most: number): number {
  const least = range / Math.max(1, most);
  const magnitude = 10 ** Math.floor(Math.log10(least));
  return magnitude * ([1, 2, 5, 10].find((step) => step * magnitude >= least) ?? 10);
}

interface Frame {
  context: CanvasRenderingContext2D;
  theme: ChartTheme;
  span: Span;
  width: number;
}

const placeOf = ({ span, width }: Frame, time: number): number =>
  LABEL_WIDTH + ((time - span.from) / (span.to - span.from)) * (width - LABEL_WIDTH);

function drawAxis(frame: Frame, top: number): void {
  const { context, theme, span, width } = frame;
  const step = tickStep(span.to - span.from, (width - LABEL_WIDTH) / 90);
  context.textAlign = 'center';
  context.textBaseline = 'top';
  for (let time = Math.ceil(span.from / step) * step; time <= span.to; time += step) {
    const x = Math.round(placeOf(frame, time)) + 0.5;
    context.fillStyle = theme.border;
    context.fillRect(x, top, 1, 5);
    context.fillStyle = theme.muted;
    if (x < width - 24) context.fillText(formatSeconds(Math.abs(time) < step / 1e6 ? 0 : time), x, top + 8);
  }
}

function drawBox(
  frame: Frame,
  box: { x: number; y: number; width: number; height: number; color: string; text: string },
) {
  const { context } = frame;
  context.fillStyle = box.color;
  const hasEdge = box.width >= EDGE_WIDTH;
  context.fillRect(box.x, box.y, Math.max(0.5, hasEdge ? box.width - 1 : box.width), box.height);
  if (box.width < NUMBER_WIDTH || box.height < 12) return;
  context.fillStyle = readableOn(box.color);
  context.fillText(box.text, box.x + box.width / 2, box.y + box.height / 2);
}

function drawRank(frame: Frame, rank: TimelineRank, y: number, height: number): void {
  const { context, theme, span, width } = frame;
  context.fillStyle = theme.sunken;
  context.fillRect(LABEL_WIDTH, y, width - LABEL_WIDTH, height);
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let index = firstAfter(rank, span.from); index < rank.starts.length; index++) {
    const start = rank.starts[index] ?? 0;
    if (start >= span.to) break;
    const left = Math.max(LABEL_WIDTH, placeOf(frame, start));
    const right = Math.min(width, placeOf(frame, rank.ends[index] ?? start));
    const microBatch = rank.microBatches[index] ?? 0;
    // neighbouring micro-batches differ a little, so that they can be told apart without edges
    context.globalAlpha = microBatch % 2 === 0 ? 1 : 0.78;
    const color = passColor(PASSES[rank.kinds[index] ?? 0] ?? 'forward', theme);
    drawBox(frame, { x: left, y, width: right - left, height, color, text: String(microBatch + 1) });
  }
  context.globalAlpha = 1;
}

/** Draws all of it; `ratio` is device pixels per CSS pixel, sizes are CSS pixels. */
export function drawTimeline(
  context: CanvasRenderingContext2D,
  timeline: Timeline,
  look: { theme: ChartTheme; span: Span; width: number; ratio: number },
): void {
  const frame: Frame = { context, ...look };
  const { theme, width } = look;
  const rows = timeline.ranks.length;
  const height = rowHeight(rows);
  context.setTransform(look.ratio, 0, 0, look.ratio, 0, 0);
  context.clearRect(0, 0, width, timelineHeight(rows));
  context.font = `11px ${theme.font}`;
  timeline.ranks.forEach((rank, row) => {
    drawRank(frame, rank, row * height + 1, height - 2);
    context.fillStyle = theme.muted;
    context.textAlign = 'left';
    context.fillText(`Stage ${rank.rank + 1}`, 0, row * height + height / 2);
  });
  drawAxis(frame, rows * height + 2);
}

/** What the pointer is over, in words; null over nothing. */
export function describeAt(timeline: Timeline, place: { x: number; y: number }, look: { span: Span; width: number }) {
  const rank = timeline.ranks[Math.floor(place.y / rowHeight(timeline.ranks.length))];
  if (rank === undefined || place.x < LABEL_WIDTH) return null;
  const { from, to } = look.span;
  const time = from + ((place.x - LABEL_WIDTH) / (look.width - LABEL_WIDTH)) * (to - from);
  const index = operationAt(rank, time);
  const stage = `Stage ${rank.rank + 1}`;
  if (index === null) return `${stage} waits at ${formatSeconds(time)}`;
  const [start = 0, end = 0] = [rank.starts[index], rank.ends[index]];
  const pass = passNames[PASSES[rank.kinds[index] ?? 0] ?? 'forward'];
  const chunk = timeline.vpp > 1 ? `, virtual stage ${(rank.stages[index] ?? 0) + 1}` : '';
  return `${stage}: ${pass.toLowerCase()} of micro-batch ${(rank.microBatches[index] ?? 0) + 1}${chunk}, ${formatSeconds(end - start)} from ${formatSeconds(start)}`;
}

/** A span moved and scaled, kept inside the step. `at` is the time that stays where it is. */
export function zoomed({ from, to }: Span, { factor, at, end }: { factor: number; at: number; end: number }): Span {
  const length = Math.min(end, Math.max(end / 5000, (to - from) * factor));
  const share = to > from ? (at - from) / (to - from) : 0.5;
  return shifted({ from: at - share * length, to: at + (1 - share) * length }, 0, end);
}

export function shifted({ from, to }: Span, by: number, end: number): Span {
  const length = to - from;
  const start = Math.max(0, Math.min(end - length, from + by));
  return { from: start, to: start + length };
}

export function timelineTable({ ranks, makespanSeconds }: Timeline): ChartTable {
  return {
    columns: ['Stage', 'Work, s', 'Waiting, s', 'Waiting, %', 'Passes'],
    rows: ranks.map(({ rank, busySeconds, idleSeconds, starts }) => [
      rank + 1,
      busySeconds,
      idleSeconds,
      Number(((100 * idleSeconds) / makespanSeconds).toFixed(2)),
      starts.length,
    ]),
  };
}
