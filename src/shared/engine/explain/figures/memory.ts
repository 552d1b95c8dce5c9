/** Memory of each stage by category and item, what can be used, and what is left. Source: docs/MODEL.md §3. */
import type { Figure, MemoryCategory, MemoryPart } from '../../../schema/index.ts';
import { stageMemoryItems, type MemoryItem } from '../../memory/index.ts';
import { itemFigures } from './memory-items.ts';
import { figure, input, numberIn, part, type FigureContext, type FigureKinds } from './types.ts';

const labels: Readonly<Record<MemoryCategory, string>> = {
  weights: 'Weights',
  gradients: 'Gradients',
  optimizer: 'Optimizer states',
  activations: 'Activations',
  workspace: 'Workspace',
};

/** What `wanted` items of one stage add up to, by category. */
function categories(context: FigureContext, stageIndex: number, wanted: (item: MemoryItem) => boolean): Figure[] {
  const all = stageMemoryItems(context.problem, context.plan, stageIndex);
  const items = all.filter(wanted);
  return (Object.keys(labels) as MemoryCategory[]).flatMap((category) => {
    const own = items.filter((item) => item.category === category);
    if (own.length === 0) return [];
    return [
      part({
        label: labels[category],
        value: own.reduce((sum, { bytes }) => sum + bytes, 0),
        unit: 'B',
        source: 'sum of its items',
        children: itemFigures(context, stageIndex, { own, all }),
      }),
    ];
  });
}

const fullestOf = ({ estimate }: FigureContext): number =>
  estimate.peakMemoryBytesByStage.indexOf(Math.max(...estimate.peakMemoryBytesByStage));

/** Which moment the peak is, where it is not the usual one. */
function worstMoment({ estimate }: FigureContext): string {
  const [first, ...rest] = estimate.memoryMoments;
  if (first === undefined) return '';
  const worst = rest.reduce((most, one) => (one.bytes > most.bytes ? one : most), first);
  return worst.id === 'training' ? '' : ` On the fullest stage that is: ${worst.label.toLowerCase()}.`;
}

/** A part of a moment with all below it. */
function momentPart({ label, bytes, source, children }: MemoryPart): Figure {
  return part({ label, value: bytes, unit: 'B', source, children: children.map(momentPart) });
}

/** What is held at one moment of a run, on the device or on the host of a node. */
function momentFigure({ estimate }: FigureContext, id: string) {
  const moment = estimate.memoryMoments.find((one) => id.endsWith(`.${one.id}`));
  if (moment === undefined) throw new Error(`no moment ${id}`);
  const isHost = id.startsWith('hostAt.');
  return figure({
    label: isHost ? `${moment.label}: host of a node` : moment.label,
    value: isHost ? moment.hostBytesPerNode : moment.bytes,
    unit: 'B',
    about: isHost
      ? 'What the ranks of a node hold in its host’s memory at this moment of a run.'
      : `What one accelerator of stage ${moment.stageIndex + 1} holds at this moment of a run; the largest moment is the peak.`,
    source: 'docs/MODEL.md §3.10',
    children: (isHost ? moment.hostParts : moment.parts).map(momentPart),
  });
}

const momentIds =
  (name: string) =>
  ({ estimate }: FigureContext): string[] =>
    estimate.memoryMoments.map(({ id }) => `${name}.${id}`);

function stageFigure(context: FigureContext, stageIndex: number, label: string) {
  return figure({
    label,
    value: context.estimate.peakMemoryBytesByStage[stageIndex] ?? 0,
    unit: 'B',
    about: `What one accelerator of stage ${stageIndex + 1} of ${context.plan.pp} holds at its worst moment.${worstMoment(context)}`,
    source: 'docs/MODEL.md §3',
    children: categories(context, stageIndex, () => true),
  });
}

/** As the framework's allocator counts it. */
function metered(context: FigureContext, name: 'allocated' | 'reserved') {
  const isCounted = ({ seenBy }: MemoryItem) => seenBy === undefined || (name === 'reserved' && seenBy === 'reserved');
  return figure({
    label: name === 'allocated' ? 'Allocated memory' : 'Reserved memory',
    value: name === 'allocated' ? context.estimate.allocatedMemoryBytes : context.estimate.reservedMemoryBytes,
    unit: 'B',
    about:
      name === 'allocated'
        ? 'What PyTorch’s max_memory_allocated would print on the fullest stage: tensors only.'
        : 'What PyTorch’s max_memory_reserved would print on the fullest stage: tensors and the gaps between them.',
    source: 'docs/MODEL.md §3.9',
    children: categories(context, fullestOf(context), isCounted),
  });
}

const peakOf = ({ estimate }: FigureContext) => input('peak memory', estimate.peakMemoryBytes, 'B', 'peakMemoryBytes');
const usableOf = ({ estimate }: FigureContext) =>
  input('usable memory', estimate.usableMemoryBytes, 'B', 'usableMemoryBytes');

const verdictWords = {
  fits: 'It fits: more than the headroom asked for stays free.',
  'at-risk': 'It may run out: it fits, but less than the headroom asked for stays free.',
  'out-of-memory': 'It runs out of memory.',
} as const;

export const memory: FigureKinds = {
  peakMemoryBytes: {
    group: 'memory',
    build: (context) => stageFigure(context, fullestOf(context), 'Peak memory of the fullest stage'),
  },
  memoryByStage: {
    group: 'memory',
    ids: ({ plan }) => Array.from({ length: plan.pp }, (_, stage) => `memoryByStage.${stage + 1}`),
    build: (context, id) => stageFigure(context, numberIn(id) - 1, `Peak memory of stage ${numberIn(id)}`),
  },
  memoryAt: { group: 'memory', ids: momentIds('memoryAt'), build: momentFigure },
  hostAt: { group: 'memory', ids: momentIds('hostAt'), build: momentFigure },
  usableMemoryBytes: {
    group: 'memory',
    build: ({ estimate, problem: { device } }) =>
      figure({
        label: 'Usable memory',
        value: estimate.usableMemoryBytes,
        unit: 'B',
        about:
          'What a process can allocate of one accelerator’s memory; error correction and the driver take the rest.',
        formula: 'memory − what is taken before a process starts',
        inputs: [
          input('memory', device.memoryBytes, 'B'),
          input('what is taken before a process starts', device.memoryBytes - device.usableMemoryBytes, 'B'),
        ],
        source: `catalog entry ${device.id}, or the scenario’s own figure (docs/MODEL.md §8)`,
      }),
  },
  headroomBytes: {
    group: 'memory',
    build: (context) =>
      figure({
        label: 'Headroom',
        value: context.estimate.usableMemoryBytes - context.estimate.peakMemoryBytes,
        unit: 'B',
        about: verdictWords[context.verdict],
        formula: 'usable memory − peak memory',
        inputs: [usableOf(context), peakOf(context)],
        source: 'docs/MODEL.md §3.9',
      }),
  },
  headroomFraction: {
    group: 'memory',
    build: (context) =>
      figure({
        label: 'Share of usable memory that stays free',
        value: 1 - context.estimate.peakMemoryBytes / context.estimate.usableMemoryBytes,
        unit: 'fraction',
        about: `${verdictWords[context.verdict]} The scenario asks for ${100 * context.problem.constraints.headroomFraction} %.`,
        formula: '(usable memory − peak memory) ÷ usable memory',
        inputs: [usableOf(context), peakOf(context)],
        source: 'docs/MODEL.md §3.9; the scenario’s headroom',
      }),
  },
  allocatedMemoryBytes: { group: 'memory', build: (context) => metered(context, 'allocated') },
  reservedMemoryBytes: { group: 'memory', build: (context) => metered(context, 'reserved') },
  hostBytesPerNode: {
    group: 'memory',
    build: ({ estimate, problem: { host, network }, plan }) => {
      const ranks = Math.min(network.acceleratorsPerNode, network.numAccelerators);
      const limit = host.memoryBytes === null ? 'is not known' : `is ${(host.memoryBytes / 2 ** 30).toFixed(0)} GiB`;
      return figure({
        label: 'Host memory of a node',
        value: estimate.hostBytesPerNode,
        unit: 'B',
        about: `What the ranks of a node offload to its host; the host’s memory ${limit}.`,
        formula: 'accelerators of a node · bytes of the neediest rank',
        inputs: [
          input('accelerators of a node', ranks),
          input('bytes of the neediest rank', estimate.hostBytesPerNode / ranks, 'B'),
          input('share of the optimizer on the host', plan.offload.optimizer, 'fraction'),
          input('share of the activations on the host', plan.offload.activations, 'fraction'),
        ],
        source: 'docs/MODEL.md §3.1',
      });
    },
  },
};
