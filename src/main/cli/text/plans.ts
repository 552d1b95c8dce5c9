/** Plans and estimates in words, tables and bars. */
import type { Estimate } from '#shared/schema/index.ts';
import { formatBytes, formatDays, formatMoney, formatNumber, formatPercent, formatSeconds } from '#shared/units.ts';
import type { ListedPlan } from '../../services/answers.ts';
import { formatBars } from './bars.ts';
import { formatTable, type Column } from './table.ts';

const moneyOf = ({ cost, currency }: Estimate) => (cost === null ? null : formatMoney(cost, currency ?? 'USD'));

/** The figures of an estimate in one line: step time, MFU, memory, days, cost. */
export function describeEstimate(estimate: Estimate): string {
  const { interval } = estimate;
  const range =
    interval.stepSeconds === null
      ? ''
      : ` (90 %: ${formatSeconds(interval.stepSeconds[0])} to ${formatSeconds(interval.stepSeconds[1])})`;
  return [
    `${formatSeconds(estimate.stepSeconds)} a step${range}`,
    `${formatPercent(estimate.mfu)} MFU`,
    `${formatBytes(estimate.peakMemoryBytes)} of ${formatBytes(estimate.usableMemoryBytes)}`,
    estimate.days === null ? null : formatDays(estimate.days),
    moneyOf(estimate),
  ]
    .filter((part) => part !== null)
    .join(', ');
}

/** A column that stands only where one of the plans needs it. */
type PlanColumn = Column<ListedPlan> & { isShown?: (plans: readonly ListedPlan[]) => boolean };

const planColumns: readonly PlanColumn[] = [
  { title: 'TP', cell: ({ plan }) => String(plan.tp) },
  { title: 'PP', cell: ({ plan }) => String(plan.pp) },
  { title: 'CP', cell: ({ plan }) => String(plan.cp), isShown: (plans) => plans.some(({ plan }) => plan.cp > 1) },
  { title: 'EP', cell: ({ plan }) => String(plan.ep), isShown: (plans) => plans.some(({ plan }) => plan.ep > 1) },
  { title: 'ETP', cell: ({ plan }) => String(plan.etp), isShown: (plans) => plans.some(({ plan }) => plan.etp > 1) },
  { title: 'DP', cell: ({ plan }) => String(plan.dp) },
  { title: 'VPP', cell: ({ plan }) => String(plan.vpp) },
  { title: 'MBS', cell: ({ plan }) => String(plan.microBatchSize) },
  { title: 'SP', cell: ({ plan }) => (plan.sequenceParallel ? 'yes' : 'no'), align: 'left', rank: 3 },
  { title: 'recompute', cell: ({ plan }) => plan.recompute.mode, align: 'left' },
  { title: 'ZeRO', cell: ({ plan }) => String(plan.sharding.zeroStage), rank: 2 },
  { title: 'step', cell: ({ estimate }) => formatSeconds(estimate.stepSeconds) },
  { title: 'MFU', cell: ({ estimate }) => formatPercent(estimate.mfu) },
  { title: 'bubble', cell: ({ estimate }) => formatPercent(estimate.bubbleFraction), rank: 4 },
  { title: 'memory', cell: ({ estimate }) => formatBytes(estimate.peakMemoryBytes) },
  { title: 'days', cell: ({ estimate }) => (estimate.days === null ? '–' : formatNumber(estimate.days)), rank: 1 },
  { title: 'cost', cell: ({ estimate }) => moneyOf(estimate) ?? '–', rank: 1 },
];

/** Plans under each other; `*` marks the scenario's own. */
export function formatPlans(plans: readonly ListedPlan[], width: number): string {
  const numbers = new Map(plans.map((item, index) => [item, item.reference ? '*' : String(index + 1)]));
  const number: Column<ListedPlan> = { title: '#', cell: (item) => numbers.get(item) ?? '' };
  const columns = planColumns.filter(({ isShown }) => isShown === undefined || isShown(plans));
  return formatTable(plans, [number, ...columns], width);
}

/** Where the time of a step goes, from the ideal on. */
export function formatWaterfall({ waterfall, stepSeconds }: Estimate, width: number): string {
  const bars = waterfall
    .filter(({ seconds }) => seconds > 0)
    .map(({ label, seconds }) => ({
      label,
      value: seconds,
      text: `${formatSeconds(seconds)}  ${`${((100 * seconds) / stepSeconds).toFixed(1)} %`.padStart(6)}`,
    }));
  return formatBars(bars, width);
}

const MOST_STAGE_BARS = 12;

interface StageRun {
  from: number;
  to: number;
  bytes: number;
}

/** Neighbouring stages of the same need as one; where there are still too many, the fullest and the ends. */
function stageRuns(bytesByStage: readonly number[]): StageRun[] {
  const runs: StageRun[] = [];
  bytesByStage.forEach((bytes, stage) => {
    const last = runs.at(-1);
    if (last?.bytes === bytes) last.to = stage;
    else runs.push({ from: stage, to: stage, bytes });
  });
  if (runs.length <= MOST_STAGE_BARS) return runs;
  const step = (runs.length - 1) / (MOST_STAGE_BARS - 1);
  const kept = new Set(Array.from({ length: MOST_STAGE_BARS }, (_, index) => runs[Math.round(index * step)]));
  const fullest = runs.reduce((most, run) => (run.bytes > most.bytes ? run : most));
  return runs.filter((run) => kept.has(run) || run === fullest);
}

/** Memory of the pipeline stages against what a device has, with its heading. */
export function formatMemory({ peakMemoryBytesByStage, usableMemoryBytes }: Estimate, width: number): string {
  const runs = stageRuns(peakMemoryBytesByStage);
  const shown = runs.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const all = peakMemoryBytesByStage.length;
  const some = shown < all ? ` (${shown} of ${all} shown)` : '';
  const heading = `Memory by pipeline stage${some}, of ${formatBytes(usableMemoryBytes)} usable (│):\n`;
  const bars = runs.map(({ from, to, bytes }) => ({
    label: from === to ? `stage ${from + 1}` : `stages ${from + 1}–${to + 1}`,
    value: bytes,
    text: formatBytes(bytes),
  }));
  return heading + formatBars(bars, width, usableMemoryBytes);
}

/** When memory peaks: the moments of a run with what the fullest stage holds, and its node's host where it holds anything. */
export function formatMoments({ memoryMoments, hostMemoryBytes }: Estimate): string {
  const width = Math.max(...memoryMoments.map(({ label }) => label.length));
  const ofHost = hostMemoryBytes === null ? '' : ` of ${formatBytes(hostMemoryBytes)}`;
  const lines = memoryMoments.map(({ label, bytes, hostBytesPerNode }) => {
    const host = hostBytesPerNode > 0 ? `, host ${formatBytes(hostBytesPerNode)}${ofHost} per node` : '';
    return `  ${label.padEnd(width)}  ${formatBytes(bytes)}${host}\n`;
  });
  return `When memory peaks (the largest counts):\n${lines.join('')}`;
}

/** A plan's arguments as a shell takes them. */
export function shellPlan(planArguments: string): string {
  return /^[\w=,.-]+$/.test(planArguments) ? `--plan ${planArguments}` : `--plan '${planArguments}'`;
}
