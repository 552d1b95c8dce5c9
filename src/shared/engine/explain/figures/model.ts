/** Parameters and FLOPs, kind of layer by kind of layer. Source of the equations: docs/MODEL.md §1, §2. */
import { stackOf } from '../../../layer-stack.ts';
import type { Figure, LayerKind, Model } from '../../../schema/index.ts';
import { recomputedShareOf } from '../../step/index.ts';
import { FROZEN_PASSES, adapterFlops, headFlops, mtpFlops, recomputedFlops } from '../../workload/flops.ts';
import { activeParameters, kindParameters, outerParameters } from '../../workload/parameters.ts';
import { trainedParameters } from '../../workload/trained.ts';
import { partCoreFlops, partLinearFlops, partParameters, partWords } from '../../workload/parts/index.ts';
import { figure, input, part, type FigureContext, type FigureKinds } from './types.ts';

const none = { type: 'none' } as const;
const SOURCE = 'docs/MODEL.md §1';

/** Kinds of layers with how many layers are of each. */
function countedKinds(model: Model): { name: string; kind: LayerKind; index: number; count: number }[] {
  const { kinds, names, order } = stackOf(model);
  return kinds.flatMap((kind, index) => {
    const count = order.filter((one) => one === index).length;
    return count === 0 ? [] : [{ name: names[index] ?? `kind ${index + 1}`, kind, index, count }];
  });
}

const sizeOf = (kind: LayerKind, model: Model): number => {
  const { sharded, replicated, routed } = partParameters(kind, model);
  return sharded + replicated + routed;
};

/** What one kind of layer holds, over all its layers. */
function kindFigure(model: Model, one: ReturnType<typeof countedKinds>[number]): Figure {
  const { name, kind, index, count } = one;
  const all = kindParameters(model)[index];
  const each = all === undefined ? 0 : all.sharded + all.replicated + all.routed;
  const mixer = sizeOf({ ...kind, ffn: none }, model);
  const ffn = sizeOf({ ...kind, mixer: none }, model);
  const rest = each - mixer - ffn;
  const words = partWords(kind);
  const piece = (label: string, size: number) =>
    part({
      label,
      value: count * size,
      unit: '',
      formula: 'layers · parameters of one',
      inputs: [input('layers', count), input('parameters of one', size)],
      source: SOURCE,
    });
  return part({
    label: stackOf(model).kinds.length === 1 ? 'Layers' : `Layers of kind ${name}`,
    value: count * each,
    unit: '',
    source: SOURCE,
    children: [
      piece(`Mixes tokens: ${words.mixer}`, mixer),
      piece(`Then: ${words.ffn}`, ffn),
      piece('Norms and others', rest),
    ].filter(({ value }) => value !== 0),
  });
}

function parameterParts(model: Model): Figure[] {
  const outer = outerParameters(model);
  const leaf = (label: string, value: number, formula = '', inputs: Figure['inputs'] = []) =>
    part({ label, value, unit: '', formula, inputs, source: SOURCE });
  const width = model.embeddingSize ?? model.hiddenSize;
  const isPlain = outer.embedding === model.vocabSize * width;
  return [
    leaf(
      'Token embedding',
      outer.embedding,
      isPlain ? 'vocabulary · width' : '',
      isPlain ? [input('vocabulary', model.vocabSize), input('width', width)] : [],
    ),
    leaf('Position embedding', outer.positions),
    ...countedKinds(model).map((one) => kindFigure(model, one)),
    leaf('Final norm', outer.finalNorm),
    leaf('Output head', outer.head),
    leaf('Other parameters', model.otherParameters),
    leaf('Vision tower', model.vision?.parameters ?? 0),
  ].filter(({ value }) => value !== 0);
}

/** FLOPs of a step of each kind of layer, `times` forward passes of each token. */
function flopParts({ problem }: FigureContext, { linear, core }: { linear: number; core: number }): Figure[] {
  const { model, workload } = problem;
  const numTokens = workload.globalBatchSize * workload.seqLen;
  const leaf = (label: string, [passes, perToken]: readonly [number, number], count: number, source: string): Figure =>
    part({
      label,
      value: passes * perToken * count * numTokens,
      unit: 'FLOP',
      formula: 'passes · FLOPs of a token forward · layers · tokens per step',
      inputs: [
        input('passes', passes),
        input('FLOPs of a token forward', perToken, 'FLOP'),
        input('layers', count),
        input('tokens per step', numTokens, '', 'tokensPerStep'),
      ],
      source,
    });
  const kinds = countedKinds(model);
  return kinds.flatMap(({ name, kind, count }) => {
    const of = kinds.length === 1 ? 'the layers' : `layers of kind ${name}`;
    return [
      leaf(`Linear maps of ${of}`, [linear, partLinearFlops(kind, model)], count, 'docs/MODEL.md §2.1: 2 per weight'),
      leaf(
        `What depends on the sequence, in ${of}`,
        [core, partCoreFlops(kind, model, workload.seqLen)],
        count,
        'docs/MODEL.md §2.1: the full square for attention',
      ),
    ].filter(({ value }) => value !== 0);
  });
}

function modelFlopParts(context: FigureContext): Figure[] {
  const { model, workload } = context.problem;
  const numTokens = workload.globalBatchSize * workload.seqLen;
  const mtp = mtpFlops(model, workload.seqLen);
  const passes = { linear: workload.adapters === null ? 3 : FROZEN_PASSES, core: 3 };
  const end = (label: string, perToken: number, times: number): Figure =>
    part({
      label,
      value: times * perToken * numTokens,
      unit: 'FLOP',
      formula: 'passes · FLOPs of a token forward · tokens per step',
      inputs: [
        input('passes', times),
        input('FLOPs of a token forward', perToken, 'FLOP'),
        input('tokens per step', numTokens, '', 'tokensPerStep'),
      ],
      source: 'docs/MODEL.md §2.1',
    });
  return [
    ...flopParts(context, passes),
    end('Output head', headFlops(model), passes.linear),
    end('Multi-token prediction, linear maps', mtp.linear, passes.linear),
    end('Multi-token prediction, attention', mtp.core, passes.core),
    end('Adapters', workload.adapters === null ? 0 : adapterFlops(model, workload.adapters), 3),
  ].filter(({ value }) => value !== 0);
}

export const model: FigureKinds = {
  parameters: {
    group: 'model',
    build: ({ problem, estimate }) =>
      figure({
        label: 'Parameters',
        value: estimate.parameters,
        unit: '',
        about: 'Before the vocabulary is padded; multi-token-prediction layers are not counted, as model cards count.',
        source: 'docs/MODEL.md §1; Narayanan et al. SC’21 eq. 2',
        children: parameterParts(problem.model),
      }),
  },
  activeParameters: {
    group: 'model',
    build: ({ problem, estimate }) => {
      const active = activeParameters(problem.model);
      return figure({
        label: 'Active parameters',
        value: active,
        unit: '',
        about: 'What one token passes through: all but the experts that it is not routed to.',
        formula: 'parameters − experts that a token skips',
        inputs: [
          input('parameters', estimate.parameters, '', 'parameters'),
          input('experts that a token skips', estimate.parameters - active),
        ],
        source: SOURCE,
      });
    },
  },
  trainedParameters: {
    group: 'model',
    build: ({ problem, estimate }) => {
      const { adapters } = problem.workload;
      const trained = trainedParameters(problem.model, adapters);
      const frozen = estimate.parameters - trained;
      return figure({
        label: 'Trained parameters',
        value: trained,
        unit: '',
        about:
          'What the optimizer updates: all, all but a frozen tower, or under LoRA adapters beside the frozen weights.',
        ...(adapters === null
          ? {
              formula: 'parameters − frozen parameters',
              inputs: [input('parameters', estimate.parameters, '', 'parameters'), input('frozen parameters', frozen)],
            }
          : {
              formula: 'rank · (inputs + outputs of the adapted maps)',
              inputs: [
                input('rank', adapters.rank),
                input('inputs + outputs of the adapted maps', trained / adapters.rank),
              ],
            }),
        source: `${SOURCE}; Hu et al. 2021, arXiv 2106.09685`,
      });
    },
  },
  modelFlops: {
    group: 'model',
    build: (context) =>
      figure({
        label: 'Model FLOPs of a step',
        value: context.estimate.modelFlops,
        unit: 'FLOP',
        about: context.estimate.flopsConvention,
        source: 'docs/MODEL.md §2.1; Korthikanti et al. 2022 eq. 7',
        children: modelFlopParts(context),
      }),
  },
  hardwareFlops: {
    group: 'model',
    build: ({ problem, plan, estimate }) => {
      const { workload } = problem;
      const size = { seqLen: workload.seqLen, numTokens: workload.globalBatchSize * workload.seqLen };
      const share = recomputedShareOf(plan, problem.model.numLayers / plan.pp);
      return figure({
        label: 'Hardware FLOPs of a step',
        value: estimate.hardwareFlops,
        unit: 'FLOP',
        about: 'What the accelerators compute: the model’s FLOPs and what recomputation repeats.',
        formula: 'model FLOPs + recomputed FLOPs',
        inputs: [
          input('model FLOPs', estimate.modelFlops, 'FLOP', 'modelFlops'),
          input('recomputed FLOPs', recomputedFlops(problem.model, size, plan.recompute, share), 'FLOP'),
        ],
        source: 'docs/MODEL.md §2.2; Korthikanti et al. 2022 eq. 8',
      });
    },
  },
};
