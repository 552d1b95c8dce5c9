/** Section 1 and 2: parameters and FLOPs. */
import type { Model } from '../../../schema/index.ts';
import { flopsPerTokenBy, utilisation, type FlopConventionName } from '../../planning/index.ts';
import { activeParameters, mtpParameters, totalParameters } from '../../workload/parameters.ts';
import { gpt, latentMixture, llama, mixture, withRouterBias } from './models.ts';
import { numbersOf, pick, vectorOf, type Answer, type Numbers, type Vector } from './vectors.ts';

const parameterAnswers: Answer[] = [
  {
    ids: /^params\.DeepSeek-V3\.with_router_bias$/,
    by: 'totalParameters',
    value: ({ inputs }) => totalParameters(withRouterBias(String(inputs['base']))),
  },
  {
    ids: /^params\.DeepSeek-V3\.mtp1$/,
    by: 'mtpParameters',
    value: ({ inputs }) => {
      const parts = mtpParameters(mixture(vectorOf(`params.${String(inputs['base'])}`).inputs));
      return parts.sharded + parts.replicated + parts.routed;
    },
  },
  { ids: /^params\.gpt2/, by: 'totalParameters', value: (vector) => totalParameters(gpt(numbersOf(vector))) },
  {
    ids: /^params\.(?!gpt2|DeepSeek-V3\.)/,
    by: 'totalParameters',
    value: ({ inputs }) => totalParameters('model' in inputs ? mixture(inputs) : llama(inputs as Numbers)),
  },
  {
    ids: /^params_active\./,
    by: 'activeParameters',
    value: ({ inputs }) => activeParameters(mixture(inputs)),
  },
  {
    ids: /^sc21\.eq2\./,
    by: 'totalParameters',
    value: (vector) => totalParameters(gpt(numbersOf(vector))) / 1e9,
  },
];

/** FLOPs of one step of a GPT by a convention. */
function stepFlops(name: FlopConventionName, inputs: Numbers): number {
  const seqLen = pick(inputs, 's');
  return flopsPerTokenBy(name, gpt(inputs), seqLen) * pick(inputs, 'B') * seqLen;
}

/** The size that a line of SC'21 table 1 belongs to. */
const tableInputs = ({ id }: Vector) => numbersOf(vectorOf(`sc21.eq3.${id.replace(/^sc21\.t1\.(iter|mfu)\./, '')}`));

const A100_PEAK = 312e12;

function kortUtilisation(vector: Vector, convention: FlopConventionName): number {
  const inputs = numbersOf(vector);
  return utilisation(stepFlops(convention, inputs), {
    stepSeconds: pick(inputs, 'iter_s'),
    numAccelerators: pick(inputs, 'gpus'),
    peakFlopsPerSecond: pick(inputs, 'peak'),
  });
}

const conventions: Readonly<Record<string, FlopConventionName>> = {
  megatron: 'megatron-lm',
  full_attn: 'matmuls',
  palm: 'palm',
  foundry: 'llm-foundry',
  titan: 'torchtitan',
  '6N': 'six-n',
};

function flopsPerToken(vector: Vector): number {
  const { id, inputs } = vector;
  const [, name = ''] = id.split('.');
  const convention = conventions[name];
  if (convention === undefined) throw new Error(`no convention ${name}`);
  const model: Model = 'mla' in inputs ? latentMixture(vector, id.endsWith('.mtp1') ? 1 : 0) : llama(inputs as Numbers);
  return flopsPerTokenBy(convention, model, pick(inputs as Numbers, 's'));
}

const flopAnswers: Answer[] = [
  {
    ids: /^sc21\.eq3\./,
    by: 'flopConventions.sc21',
    value: (vector) => stepFlops('sc21', numbersOf(vector)),
  },
  {
    ids: /^sc21\.t1\.iter\./,
    by: 'flopConventions.sc21',
    value: (vector) => stepFlops('sc21', tableInputs(vector)) / (pick(numbersOf(vector), 'aggregate_PFLOPs') * 1e15),
  },
  {
    ids: /^sc21\.t1\.mfu\./,
    by: 'flopConventions.matmuls, .sc21, utilisation',
    value: (vector) => {
      const { n = 1, aggregate_PFLOPs = 1 } = numbersOf(vector);
      const sizes = tableInputs(vector);
      const stepSeconds = stepFlops('sc21', sizes) / (aggregate_PFLOPs * 1e15);
      const run = { stepSeconds, numAccelerators: n, peakFlopsPerSecond: A100_PEAK };
      return utilisation(stepFlops('matmuls', sizes), run);
    },
  },
  {
    ids: /^kort\.t5\.mfu\./,
    by: 'flopConventions.matmuls, utilisation',
    value: (vector) => kortUtilisation(vector, 'matmuls'),
  },
  {
    ids: /^kort\.t5\.hfu\./,
    by: 'flopConventions.korthikanti-hardware, utilisation',
    value: (vector) => kortUtilisation(vector, 'korthikanti-hardware'),
  },
  { ids: /^flops\./, by: 'flopConventions', value: flopsPerToken },
];

export const workloadAnswers: readonly Answer[] = [...parameterAnswers, ...flopAnswers];
