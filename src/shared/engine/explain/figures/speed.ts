/** Step time, rates, utilisation and the bubble. Source of the equations: docs/MODEL.md §2.3, §6. */
import type { Figure, TimePart, WaterfallStep } from '../../../schema/index.ts';
import { figure, input, part, type FigureContext, type FigureKinds } from './types.ts';

/** A part of the step time with all below it. */
function timeFigure({ label, seconds, source, formula = '', inputs = [], children }: TimePart): Figure {
  return part({ label, value: seconds, unit: 's', source, formula, inputs, children: children.map(timeFigure) });
}

const stepTime = ({ estimate }: FigureContext) => input('step time', estimate.stepSeconds, 's', 'stepSeconds');
const peak = ({ estimate }: FigureContext) =>
  input('peak of the cluster', estimate.peakFlopsPerSecond, 'FLOP/s', 'peakFlopsPerSecond');
const tokensOf = ({ problem: { workload } }: FigureContext) => workload.globalBatchSize * workload.seqLen;

/** One bar: its time, and the points of peak that it costs. */
function waterfallFigure(step: WaterfallStep, context: FigureContext): Figure {
  const isIdeal = step.kind === 'ideal';
  const { estimate } = context;
  return part({
    label: step.label,
    value: step.seconds,
    unit: 's',
    about: step.why,
    ...(isIdeal ? { formula: 'model FLOPs ÷ peak of the cluster' } : {}),
    inputs: [
      ...(isIdeal ? [input('model FLOPs', estimate.modelFlops, 'FLOP', 'modelFlops'), peak(context)] : []),
      input(
        isIdeal ? 'share of the step, which is the MFU' : 'MFU lost',
        step.seconds / estimate.stepSeconds,
        'points',
      ),
    ],
    source: 'docs/MODEL.md §6.4',
  });
}

function utilisation(context: FigureContext, name: 'mfu' | 'hfu') {
  const { estimate } = context;
  const isModel = name === 'mfu';
  const flops = isModel
    ? input('model FLOPs', estimate.modelFlops, 'FLOP', 'modelFlops')
    : input('hardware FLOPs', estimate.hardwareFlops, 'FLOP', 'hardwareFlops');
  return figure({
    label: isModel ? 'MFU' : 'HFU',
    value: estimate[name],
    unit: 'fraction',
    about: estimate.flopsConvention,
    formula: `${flops.label} ÷ (step time · peak of the cluster)`,
    inputs: [flops, stepTime(context), peak(context)],
    source: 'docs/MODEL.md §2.3; Chowdhery et al. 2022 (PaLM) appendix B',
  });
}

/** An end of the 90 % interval of the step time. */
function bound(context: FigureContext, end: 0 | 1) {
  const { estimate, problem } = context;
  const { stepTimeBand } = problem.calibration;
  const factor = stepTimeBand === null ? null : end === 0 ? stepTimeBand.low : stepTimeBand.high;
  return figure({
    label: end === 0 ? 'Step time, lower end of the 90 % interval' : 'Step time, upper end of the 90 % interval',
    value: estimate.interval.stepSeconds?.[end] ?? null,
    unit: 's',
    about: estimate.interval.basis,
    formula: 'step time · factor',
    inputs: [stepTime(context), ...(factor === null ? [] : [input('factor', factor, 'ratio')])],
    source: 'docs/MODEL.md §9.2',
  });
}

export const speed: FigureKinds = {
  stepSeconds: {
    group: 'speed',
    build: ({ estimate }) => {
      const { children, ...root } = timeFigure(estimate.parts);
      return figure({
        ...root,
        value: estimate.stepSeconds,
        about: 'Time of one training step: the pipeline’s, as its slowest stage sets it, and what follows it.',
        children,
      });
    },
  },
  'stepSeconds.low': { group: 'speed', build: (context) => bound(context, 0) },
  'stepSeconds.high': { group: 'speed', build: (context) => bound(context, 1) },
  waterfall: {
    group: 'speed',
    build: (context) =>
      figure({
        label: 'From peak to MFU',
        value: context.estimate.stepSeconds,
        unit: 's',
        about: 'The time that the FLOPs of the model would take at the dense peak, and what each loss adds to it.',
        source: 'docs/MODEL.md §6.4',
        children: context.estimate.waterfall.map((step) => waterfallFigure(step, context)),
      }),
  },
  mfu: { group: 'speed', build: (context) => utilisation(context, 'mfu') },
  hfu: { group: 'speed', build: (context) => utilisation(context, 'hfu') },
  tokensPerSecond: {
    group: 'speed',
    build: (context) =>
      figure({
        label: 'Tokens per second',
        value: context.estimate.tokensPerSecond,
        unit: 'tokens/s',
        formula: 'tokens per step ÷ step time',
        inputs: [input('tokens per step', tokensOf(context), '', 'tokensPerStep'), stepTime(context)],
        source: 'docs/MODEL.md §2.3',
      }),
  },
  tokensPerSecondPerAccelerator: {
    group: 'speed',
    build: ({ estimate, problem }) =>
      figure({
        label: 'Tokens per second and accelerator',
        value: estimate.tokensPerSecondPerAccelerator,
        unit: 'tokens/s',
        formula: 'tokens per second ÷ accelerators',
        inputs: [
          input('tokens per second', estimate.tokensPerSecond, 'tokens/s', 'tokensPerSecond'),
          input('accelerators', problem.network.numAccelerators),
        ],
        source: 'docs/MODEL.md §2.3',
      }),
  },
  tokensPerStep: {
    group: 'speed',
    build: (context) =>
      figure({
        label: 'Tokens per step',
        value: tokensOf(context),
        unit: '',
        formula: 'global batch · sequence length',
        inputs: [
          input('global batch', context.problem.workload.globalBatchSize),
          input('sequence length', context.problem.workload.seqLen),
        ],
        source: 'the job of the scenario',
      }),
  },
  peakFlopsPerSecond: {
    group: 'speed',
    build: ({ estimate, problem: { device, network, workload } }) =>
      figure({
        label: 'Peak of the cluster',
        value: estimate.peakFlopsPerSecond,
        unit: 'FLOP/s',
        about: `What all accelerators could do at the dense ${workload.compute} peak of their datasheet.`,
        formula: 'accelerators · dense peak of one',
        inputs: [
          input('accelerators', network.numAccelerators),
          input('dense peak of one', device.peakFlopsPerSecond, 'FLOP/s'),
        ],
        source: `catalog entry ${device.id}, which names the source of each figure (docs/MODEL.md §8)`,
      }),
  },
  bubbleFraction: {
    group: 'speed',
    build: ({ estimate, cost: { pipeline } }) =>
      figure({
        label: 'Pipeline bubble',
        value: estimate.bubbleFraction,
        unit: 'fraction',
        about: 'Share of the pipeline’s time in which its slowest stage waits for others to fill and drain it.',
        formula: 'bubble ÷ (work of the slowest stage + bubble + waiting for sends)',
        inputs: [
          input('bubble', pipeline.bubble, 's'),
          input('work of the slowest stage', pipeline.busy, 's'),
          input('waiting for sends', pipeline.sends, 's'),
        ],
        source: 'docs/MODEL.md §6.1; Narayanan et al. SC’21 §2.2',
      }),
  },
  numMicroBatches: {
    group: 'speed',
    build: ({ estimate, plan, problem }) =>
      figure({
        label: 'Micro-batches per step and pipeline',
        value: estimate.numMicroBatches,
        unit: '',
        formula: 'global batch ÷ (dp · micro-batch size)',
        inputs: [
          input('global batch', problem.workload.globalBatchSize),
          input('dp', plan.dp),
          input('micro-batch size', plan.microBatchSize),
        ],
        source: 'docs/MODEL.md §6',
      }),
  },
};
