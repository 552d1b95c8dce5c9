/** Random problems and valid plans of them, for property tests. */
import fc from 'fast-check';
import type { Adapters, Plan, PlanInput } from '../../schema/index.ts';
import { divisorsOf } from '../divisors.ts';
import { layoutFor } from '../layout.ts';
import { completePlan, type Problem } from '../index.ts';
import { firstBrokenRule } from '../rules/index.ts';
import { problemOf, type Choices } from './problems.ts';

const expertsOf = (numExperts: number) => ({
  numExperts,
  expertsPerToken: 2,
  expertFfnHiddenSize: 512,
  sharedExpertFfnHiddenSize: 256,
  sharedExpertGate: false,
  denseFirst: 1,
  everyN: 1,
  router: null,
});

/** Half of the jobs train all weights, the others adapters. */
const adaptersArbitrary: fc.Arbitrary<Adapters | null> = fc.constantFrom(
  null,
  null,
  { rank: 16, targets: ['attention', 'ffn'] },
  { rank: 8, targets: ['qkv'] },
);

/** Small training jobs: both model styles, both accelerators, stacks of three eras, 1 to 64 devices. */
export const choicesArbitrary: fc.Arbitrary<Choices> = fc
  .record({
    numLayers: fc.constantFrom(1, 2, 4, 6, 8, 10, 12),
    headDim: fc.constantFrom(64, 128),
    numHeads: fc.constantFrom(4, 8, 12),
    groups: fc.constantFrom(1, 2, 4),
    isGpt: fc.boolean(),
    tiedEmbeddings: fc.boolean(),
    vocabSize: fc.constantFrom(1000, 32_000, 50_257),
    accelerator: fc.constantFrom('a100-80gb-sxm', 'h100-80gb-sxm'),
    numAccelerators: fc.constantFrom(1, 2, 4, 8, 16, 24, 64),
    globalBatchSize: fc.constantFrom(8, 24, 48, 64),
    seqLen: fc.constantFrom(512, 2048, 8192),
    version: fc.constantFrom(null, '2021', '2022'),
    gradients: fc.constantFrom('fp32' as const, 'bf16' as const),
    objective: fc.constantFrom('throughput' as const, 'memory-headroom' as const),
    experts: fc.constantFrom(0, 0, 4, 8),
    mtpLayers: fc.constantFrom(0, 0, 0, 1),
    lora: adaptersArbitrary,
  })
  .map(
    ({
      numLayers,
      headDim,
      numHeads,
      groups,
      isGpt,
      tiedEmbeddings,
      vocabSize,
      gradients,
      experts,
      mtpLayers,
      ...rest
    }) => ({
      ...rest,
      precision: { gradients },
      model: {
        numLayers,
        hiddenSize: numHeads * headDim,
        ffnHiddenSize: 4 * numHeads * headDim,
        numHeads,
        numKvHeads: numHeads / groups,
        headDim,
        tiedEmbeddings,
        vocabSize,
        mtpLayers,
        ...(experts === 0
          ? {}
          : {
              moe: expertsOf(experts),
            }),
        ...(isGpt
          ? {
              family: 'gpt' as const,
              gatedFfn: false,
              positions: 'learned' as const,
              maxPositions: 8192,
              normalization: 'layernorm' as const,
              qkvBias: true,
              ffnBias: true,
              dropout: true,
            }
          : {}),
      },
    }),
  );

const runtimes = fc.record({
  attentionKernel: fc.constantFrom('flash' as const, 'unfused' as const),
  expandableSegments: fc.boolean(),
  fusedKernels: fc.boolean(),
  scatterGather: fc.boolean(),
});

/** Any plan that divides: rules may still refuse it. */
function planArbitrary(problem: Problem): fc.Arbitrary<Plan> {
  const { model, network, workload } = problem;
  const n = network.numAccelerators;
  return fc
    .record({
      tp: fc.constantFrom(...divisorsOf(n).filter((tp) => tp <= 8)),
      pp: fc.nat(),
      vpp: fc.constantFrom(1, 1, 2, 3),
      microBatchSize: fc.constantFrom(...divisorsOf(workload.globalBatchSize).filter((size) => size <= 8)),
      mode: fc.constantFrom('none' as const, 'selective' as const, 'full' as const),
      cp: fc.constantFrom(1, 1, 2),
      cpMethod: fc.constantFrom('ring' as const, 'all-gather' as const, 'ulysses' as const, 'hierarchical' as const),
      ep: fc.constantFrom(1, 2, 4),
      modules: fc.constantFrom(['core-attention' as const], ['mlp' as const, 'moe' as const], ['norms' as const]),
      layersPerStage: fc.constantFrom(null, null, 1),
      offloaded: fc.constantFrom(0, 0, 0.5),
      zeroStage: fc.constantFrom(0 as const, 1 as const, 2 as const, 3 as const),
      sequenceParallel: fc.boolean(),
      tpOverlap: fc.boolean(),
      hidden: fc.boolean(),
      runtime: runtimes,
    })
    .map(({ pp: seed, mode, zeroStage, tpOverlap, hidden, ...chosen }) => {
      const { modules, layersPerStage, offloaded, ...rest } = chosen;
      const pipelines = divisorsOf(n / rest.tp).filter(
        (pp) => pp <= model.numLayers && n % (rest.tp * rest.cp * pp) === 0,
      );
      const pp = pipelines[seed % pipelines.length] ?? 1;
      const vpp = pp > 1 ? rest.vpp : 1;
      const input: PlanInput = {
        ...rest,
        pp,
        vpp,
        sequenceParallel: rest.sequenceParallel && rest.tp > 1,
        ep: model.moe === null ? 1 : rest.ep,
        recompute:
          mode === 'selective'
            ? { mode, modules: [...modules] }
            : { mode, layersPerStage: mode === 'full' ? layersPerStage : null },
        offload: { optimizer: offloaded, activations: offloaded },
        sharding: { zeroStage },
        overlap: { tp: tpOverlap, gradReduce: hidden, paramGather: hidden, pipeline: hidden },
        layout: layoutFor(model.numLayers, pp, vpp) ?? null,
      };
      return completePlan(problem, input);
    });
}

export interface Case {
  choices: Choices;
  problem: Problem;
  plan: Plan;
}

/** A case that prints short when a property fails: the problem follows from the choices. */
function caseOf(choices: Choices, problem: Problem, plan: Plan): Case {
  const text = JSON.stringify({ choices, plan });
  return Object.defineProperty({ choices, problem, plan }, fc.toStringMethod, { value: () => text });
}

/** A problem with a plan that every rule accepts. */
export const caseArbitrary: fc.Arbitrary<Case> = choicesArbitrary
  .chain((choices) => {
    const problem = problemOf(choices);
    return planArbitrary(problem).map((plan) => caseOf(choices, problem, plan));
  })
  .filter(({ problem, plan }) => firstBrokenRule(problem, plan) === null);

/** The same case with some choices replaced; the plan stays. */
export function withChoices({ choices, plan }: Case, changed: Choices): Case {
  const next = { ...choices, ...changed, model: { ...choices.model, ...changed.model } };
  return { choices: next, problem: problemOf(next), plan };
}
