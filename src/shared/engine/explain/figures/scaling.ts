/** Whether the model suits the tokens: scaling laws. Source: docs/MODEL.md §7.1. */
import { bestFor, chinchillaTokens, lossOf, scalingLaws, trainingFlops } from '../../planning/scaling-laws.ts';
import { activeParameters } from '../../workload/parameters.ts';
import { ofRun, run } from './run-context.ts';
import { figure, input, type FigureKinds } from './types.ts';

const LAW = scalingLaws.besiroglu;
const DENSE = 'The law was fitted on dense models; of experts the active parameters count here.';

export const scaling: FigureKinds = {
  tokensPerParameter: ofRun(
    {
      label: 'Tokens per parameter',
      unit: '',
      about:
        'By active parameters. About 20 is best for the training alone; a model that serves many tokens gets more.',
      formula: 'tokens of the run ÷ active parameters',
      source: 'docs/MODEL.md §7.1; Hoffmann et al. 2022 (arXiv 2203.15556)',
    },
    ({ problem }) => ({
      value: (problem.workload.tokens ?? 0) / activeParameters(problem.model),
      inputs: [
        input('tokens of the run', problem.workload.tokens ?? 0),
        input('active parameters', activeParameters(problem.model), '', 'activeParameters'),
      ],
    }),
  ),
  computeOptimalTokens: run(({ problem }) => {
    const active = activeParameters(problem.model);
    return figure({
      label: 'Compute-optimal tokens for this model',
      value: chinchillaTokens(active).tokens,
      unit: '',
      about: `Where a model of this size is the best use of its training FLOPs. ${DENSE}`,
      formula: 'Hoffmann et al.’s table at the active parameters, log-linear between its rows',
      inputs: [input('active parameters', active, '', 'activeParameters')],
      source: 'Hoffmann et al. 2022 (arXiv 2203.15556) table 3',
    });
  }),
  computeOptimalParameters: ofRun(
    {
      label: 'Compute-optimal model for these FLOPs',
      unit: '',
      about: `The dense model of least loss for the same training FLOPs, 6 · N · D. ${DENSE}`,
      formula: 'G · (C ÷ 6)^(β ÷ (α + β))',
      source: `${LAW.source}; docs/MODEL.md §7.1`,
    },
    ({ problem }) => {
      const flops = trainingFlops(activeParameters(problem.model), problem.workload.tokens ?? 0);
      const { parameterExponent, tokenExponent } = LAW;
      return {
        value: bestFor(LAW, flops).parameters,
        inputs: [
          input('C, training FLOPs 6 · N · D', flops, 'FLOP'),
          input('α', parameterExponent),
          input('β', tokenExponent),
        ],
      };
    },
  ),
  predictedLoss: ofRun(
    {
      label: 'Loss by the scaling law',
      unit: 'nats/token',
      about: `What a dense model of this size would reach on MassiveText. ${DENSE} Compare runs with it; do not promise it.`,
      formula: 'E + A ÷ N^α + B ÷ D^β',
      source: `${LAW.source}; docs/MODEL.md §7.1`,
    },
    ({ problem }) => {
      const active = activeParameters(problem.model);
      const tokens = problem.workload.tokens ?? 0;
      return {
        value: lossOf(LAW, active, tokens),
        inputs: [
          input('N, active parameters', active, '', 'activeParameters'),
          input('D, tokens of the run', tokens),
          input('E', LAW.irreducibleLoss),
          input('A', LAW.parameterFactor),
          input('B', LAW.tokenFactor),
        ],
      };
    },
  ),
};
