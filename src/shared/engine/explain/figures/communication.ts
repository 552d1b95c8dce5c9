/** Each communication of a step, and one call of it: the algorithm that is fastest, latency and bandwidth apart. */
import type { Communication, Figure } from '../../../schema/index.ts';
import {
  bestAlgorithm,
  groupsOf,
  linksOf,
  sendSeconds,
  type Group,
  type Links,
  type NetworkOp,
} from '../../network/index.ts';
import { scaleOutOf } from '../../network/links.ts';
import { figure, input, numberIn, part, type FigureContext, type FigureKinds } from './types.ts';

const SOURCE = 'docs/MODEL.md §5.1';
const ops: Readonly<Record<string, NetworkOp>> = {
  'all-reduce': 'allReduce',
  'all-gather': 'allGather',
  'reduce-scatter': 'reduceScatter',
  'all-to-all': 'allToAll',
};
const placements: Readonly<Record<Communication['placement'], string>> = {
  'scale-up': 'scale-up links (NVLink and its like)',
  node: 'PCIe of the node',
  'scale-out': 'the NICs',
  host: 'the host link',
};

function groupOfRow({ problem, plan, cost }: FigureContext, row: Communication): Group | null {
  const groups = groupsOf(problem, plan);
  const byName: Readonly<Record<string, Group | null>> = {
    ...{ tp: groups.tp, cp: groups.cp, ep: groups.ep, etp: groups.etp, pp: groups.pp, embedding: groups.embedding },
    ...{ dp: cost.dpGroup, edp: cost.expertGroup },
  };
  return byName[row.group] ?? null;
}

/** Bandwidth of the links that a row's messages cross, per accelerator and direction. */
function bandwidthOf(context: FigureContext, links: Links, row: Communication, group: Group): number {
  if (row.placement === 'host') return context.problem.host.linkBytesPerSecond;
  if (row.placement === 'node') return links.nodeBytesPerSecond;
  if (row.placement === 'scale-up') return links.scaleUpBytesPerSecond;
  return scaleOutOf(links, row.group === 'pp' ? 'send' : 'allReduce', group).bytesPerSecond;
}

/** One collective by the algorithm that is fastest for its size, with what does not depend on the bytes apart. */
function collective(links: Links, op: NetworkOp, of: { group: Group; bytes: number; name: string }): Figure | null {
  const best = bestAlgorithm(links, { op, group: of.group, bytes: of.bytes });
  if (best === null) return null;
  const { algorithm, seconds } = best;
  const least = Math.min(seconds, algorithm.seconds(links, { op, group: of.group, bytes: 1 }) ?? 0);
  const { latencySeconds, bytesPerSecond } = scaleOutOf(links, op, of.group);
  return part({
    label: `${of.name}: ${algorithm.label}`,
    value: seconds,
    unit: 's',
    about: `Of the algorithms that can run here, ${algorithm.name} is the fastest for this size.`,
    source: `${algorithm.source.replace('MODEL', 'docs/MODEL.md')}; src/shared/engine/network/algorithms`,
    children: [
      part({
        label: 'Latency',
        value: least,
        unit: 's',
        about: 'The same call with one byte: starting it, and every hop on the way.',
        inputs: [input('ranks', of.group.size), input('latency of the network', latencySeconds, 's')],
        source: SOURCE,
      }),
      part({
        label: 'Moving the bytes',
        value: seconds - least,
        unit: 's',
        inputs: [input('array', of.bytes, 'B'), input('NICs of one accelerator', bytesPerSecond, 'B/s')],
        source: SOURCE,
      }),
    ],
  });
}

function message(links: Links, row: Communication, group: Group): Figure | null {
  if (row.placement === 'host') return null;
  const latency = sendSeconds(links, 0, row.placement, group);
  const seconds = sendSeconds(links, row.bytesPerCall, row.placement, group);
  return part({
    label: `Message over ${placements[row.placement]}`,
    value: seconds,
    unit: 's',
    source: SOURCE,
    children: [
      part({ label: 'Latency', value: latency, unit: 's', source: SOURCE }),
      part({
        label: 'Moving the bytes',
        value: seconds - latency,
        unit: 's',
        formula: 'bytes ÷ bandwidth',
        inputs: [
          input('bytes', row.bytesPerCall, 'B'),
          input('bandwidth', row.bytesPerCall / (seconds - latency), 'B/s'),
        ],
        source: SOURCE,
      }),
    ],
  });
}

/** Without sequence parallelism each rank sends its part of the tensor, and the receivers gather it. SC'21 §4.1. */
function regather({ problem, plan }: FigureContext, links: Links, row: Communication): Figure | null {
  if (plan.sequenceParallel || plan.tp === 1) return null;
  const { tp } = groupsOf(problem, plan);
  return collective(links, 'allGather', { group: tp, bytes: row.bytesPerCall * plan.tp, name: 'gathered over tp' });
}

/** One call of a row; rows of two operations take each in turn. */
function callParts(context: FigureContext, row: Communication): Figure[] {
  const group = groupOfRow(context, row);
  if (group === null) return [];
  const links = linksOf(context.problem);
  if (row.operation === 'send/receive') {
    const send = message(links, row, group);
    return [send, regather(context, links, row)].filter((one) => one !== null);
  }
  return row.operation.split(' + ').flatMap((name) => {
    const op = ops[name];
    if (op === undefined) return [];
    const one = collective(links, op, { group, bytes: row.bytesPerCall, name });
    return one === null ? [] : [one];
  });
}

function rowOf({ estimate }: FigureContext, id: string): Communication {
  const row = estimate.communication[numberIn(id) - 1];
  if (row === undefined) throw new Error(`no communication ${id}`);
  return row;
}

function rowFigure(context: FigureContext, id: string) {
  const row = rowOf(context, id);
  const group = groupOfRow(context, row);
  const links = linksOf(context.problem);
  const hidden = row.totalSeconds - row.exposedSeconds;
  return figure({
    label: row.label,
    value: row.totalSeconds,
    unit: 's',
    about: `${row.operation} over ${placements[row.placement]}, all of a step, hidden parts included.`,
    formula: 'calls per step · time of a call',
    inputs: [
      input('calls per step', row.callsPerStep),
      input('time of a call', row.secondsPerCall, 's', `call.${numberIn(id)}`),
      input('ranks of the group', row.groupSize),
      ...(group === null ? [] : [input('ranks in a scale-up domain', group.ranksPerDomain)]),
      input('bytes of a call', row.bytesPerCall, 'B'),
      input('bytes of a step', row.callsPerStep * row.bytesPerCall, 'B'),
      ...(group === null ? [] : [input('bandwidth of the links', bandwidthOf(context, links, row, group), 'B/s')]),
      input('hidden share', row.totalSeconds > 0 ? hidden / row.totalSeconds : 0, 'fraction'),
    ],
    source: 'volumes docs/MODEL.md §5.3, overlap §5.4, placement §5.5',
    children: [
      part({ label: 'Hidden behind computation', value: hidden, unit: 's', source: 'docs/MODEL.md §5.4' }),
      part({ label: 'Not hidden', value: row.exposedSeconds, unit: 's', source: 'docs/MODEL.md §5.4' }),
    ],
  });
}

function callFigure(context: FigureContext, id: string) {
  const row = rowOf(context, id);
  const parts = callParts(context, row);
  const what = row.operation.includes(' + ') ? 'One call of each operation' : 'One call';
  return figure({
    label: `${what}: ${row.label}`,
    value: parts.length === 0 ? row.secondsPerCall : parts.reduce((sum, { value }) => sum + (value ?? 0), 0),
    unit: 's',
    about:
      'An array of this size in one go, by itself. A step’s mean differs where arrays go in buckets, or run beside a matmul that they slow.',
    inputs: [
      input('mean of a step', row.secondsPerCall, 's', `communication.${numberIn(id)}`),
      input('bytes of a call', row.bytesPerCall, 'B'),
    ],
    source: SOURCE,
    children: parts,
  });
}

const idsOf =
  (name: string) =>
  ({ estimate }: FigureContext): string[] =>
    estimate.communication.map((_, row) => `${name}.${row + 1}`);

export const communication: FigureKinds = {
  communication: { group: 'communication', ids: idsOf('communication'), build: rowFigure },
  call: { group: 'communication', ids: idsOf('call'), build: callFigure },
};
