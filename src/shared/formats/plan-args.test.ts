import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../errors.ts';
import { planSchema, recomputeModes, scheduleNames, type Plan, type PlanInput } from '../schema/index.ts';
import { checkChoices, formatPlanArgs, parseChoices, parsePlanArgs, planPaths } from './plan-args.ts';

describe('parsePlanArgs', () => {
  test.each<[string, PlanInput]>([
    [
      'tp=8,pp=64,microBatchSize=1,recompute.mode=full,schedule.name=1f1b',
      { tp: 8, pp: 64, microBatchSize: 1, recompute: { mode: 'full' }, schedule: { name: '1f1b' } },
    ],
    ['sequenceParallel=true,overlap.tp=false', { sequenceParallel: true, overlap: { tp: false } }],
    [' tp = 8 , pp=2 ,', { tp: 8, pp: 2 }],
    ['recompute.modules=[core-attention|mlp]', { recompute: { modules: ['core-attention', 'mlp'] } }],
    ['recompute.modules=core-attention,mlp,tp=2', { recompute: { modules: ['core-attention', 'mlp'] }, tp: 2 }],
    ['recompute.modules=[]', { recompute: { modules: [] } }],
    ['recompute.modules=mlp', { recompute: { modules: ['mlp'] } }],
    [
      'schedule.groupSize=null,recompute.layersPerStage=4',
      { schedule: { groupSize: null }, recompute: { layersPerStage: 4 } },
    ],
    ['sharding.group.size=8', { sharding: { group: { size: 8 } } }],
    ['sharding.group=dp-cp,zeroStage=3', { sharding: { group: 'dp-cp', zeroStage: 3 } }],
    ['layout=Et*2|(tt|)*5t|tmL', { layout: 'Et*2|(tt|)*5t|tmL' }],
    [
      'mbs=2,sp=on,zero=1,recompute=none,schedule=1f1b',
      {
        microBatchSize: 2,
        sequenceParallel: true,
        sharding: { zeroStage: 1 },
        recompute: { mode: 'none' },
        schedule: { name: '1f1b' },
      },
    ],
    ['micro-batch-size=2,TP=4', { microBatchSize: 2, tp: 4 }],
    ['', {}],
  ])('%s', (text, plan) => {
    expect(parsePlanArgs(text)).toEqual(plan);
  });

  test.each([
    ['tpp=8', 'tpp', /no plan field "tpp"/, /Did you mean tp\?.*tp, pp, cp/],
    ['recompute.mod=full', 'recompute.mod', /no plan field/, /recompute\.mode/],
    ['mode=maybe', 'recompute.mode', /none, selective, full.*found "maybe"/, /selective/],
    ['tp=0', 'tp', /at least 1, found 0/, /at least 1/],
    ['tp=-8', 'tp', /at least 1, found -8/, /at least 1/],
    ['tp=eight', 'tp', /found "eight"/, /number/],
    ['tp=1.5', 'tp', /found 1.5/, /./],
    ['tp=', 'tp', /found ""/, /./],
    ['sequenceParallel=maybe', 'sequenceParallel', /found "maybe"/, /true or false/],
    ['zeroStage=4', 'sharding.zeroStage', /sharding\.zeroStage/, /./],
    ['tp=8,tp=4', 'tp', /given twice, as 8 and 4/, /once/],
    ['8', '--plan', /expected KEY=VALUE, found "8"/, /tp=8/],
    ['=8', '--plan', /expected KEY=VALUE/, /tp=8/],
    ['nonsense', '--plan', /expected KEY=VALUE, found "nonsense"/, /tp=8/],
    ['recompute.modules=[mlp|mpl]', 'recompute.modules', /recompute\.modules/, /./],
    ['__proto__=1', '__proto__', /no plan field/, /./],
    ['constructor.name=1', 'constructor.name', /no plan field/, /./],
  ])('%s is refused: the field and what would be right', (text, path, message, remedy) => {
    const error = expect.objectContaining({
      code: 'bad-usage',
      path,
      message: expect.stringMatching(message),
      remedy: expect.stringMatching(remedy),
    });
    expect(() => parsePlanArgs(text)).toThrow(error);
  });

  test('any text gives a plan or an AppError', () => {
    const piece = fc.oneof(
      fc.constantFrom(...planPaths, '=', ',', '[', ']', '|', 'true', '8', 'null', '.'),
      fc.string(),
    );
    const messy = fc.array(piece, { maxLength: 8 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(messy, (text) => {
        try {
          parsePlanArgs(text);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
        }
      }),
    );
  });

  test('a plan written as arguments is read back', () => {
    const count = fc.integer({ min: 1, max: 4096 });
    const plans = fc.record(
      {
        tp: count,
        pp: count,
        microBatchSize: count,
        sequenceParallel: fc.boolean(),
        'recompute.mode': fc.constantFrom(...recomputeModes),
        'schedule.name': fc.constantFrom(...scheduleNames),
        'offload.optimizer': fc.double({ min: 0, max: 1, noNaN: true }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(plans, (flat) => {
        const text = Object.entries(flat).map(([key, value]) => `${key}=${String(value)}`);
        const plan = parsePlanArgs(text.join(','));
        const found = Object.keys(flat).map((path) =>
          path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], plan),
        );
        expect(found).toEqual(Object.values(flat));
      }),
    );
  });
});

describe('formatPlanArgs', () => {
  const usual: Plan = {
    tp: 1,
    pp: 1,
    cp: 1,
    ep: 1,
    etp: 1,
    dp: 8,
    vpp: 1,
    microBatchSize: 1,
    sequenceParallel: false,
    schedule: { name: '1f1b', groupSize: null },
    recompute: { mode: 'none', modules: [], layersPerStage: null },
    sharding: { zeroStage: 1, group: 'dp', reshardAfterForward: true },
    cpMethod: 'ring',
    overlap: { tp: false, gradReduce: true, paramGather: true, pipeline: true, expert: false },
    offload: { optimizer: 0, weights: 0, activations: 0 },
    layout: null,
    rankOrder: 'tp-cp-ep-dp-pp',
    runtime: {
      fusedCrossEntropy: true,
      cudaGraphs: 'none',
      expertDispatcher: 'alltoall',
      expertCapacity: 'dropless',
      expertImbalance: 1.1,
      expandableSegments: false,
      fusedKernels: true,
      scatterGather: true,
      attentionKernel: 'flash',
    },
  };
  const complete = (input: PlanInput): Plan => {
    const { schedule, recompute, sharding, overlap, offload, runtime, ...rest } = input;
    return planSchema.parse({
      ...usual,
      ...rest,
      schedule: { ...usual.schedule, ...schedule },
      recompute: { ...usual.recompute, ...recompute },
      sharding: { ...usual.sharding, ...sharding },
      overlap: { ...usual.overlap, ...overlap },
      offload: { ...usual.offload, ...offload },
      runtime: { ...usual.runtime, ...runtime },
    });
  };

  test('says the split and what is unusual', () => {
    expect(formatPlanArgs(usual, complete)).toBe('tp=1,pp=1,microBatchSize=1,recompute.mode=none');
    const plan = complete({
      tp: 8,
      pp: 4,
      vpp: 2,
      recompute: { mode: 'selective', modules: ['mlp', 'norms'] },
      layout: 'E|(t|)*7tL',
    });
    expect(formatPlanArgs(plan, complete)).toBe(
      'tp=8,pp=4,vpp=2,microBatchSize=1,recompute.mode=selective,recompute.modules=[mlp|norms],layout=E|(t|)*7tL',
    );
  });

  test('is read back as the same plan', () => {
    const count = fc.integer({ min: 1, max: 64 });
    const inputs = fc.record({
      tp: count,
      pp: count,
      dp: count,
      vpp: count,
      microBatchSize: count,
      sequenceParallel: fc.boolean(),
      schedule: fc.record({ name: fc.constantFrom(...scheduleNames), groupSize: fc.option(count) }),
      recompute: fc.record({
        mode: fc.constantFrom(...recomputeModes),
        modules: fc.uniqueArray(fc.constantFrom('core-attention', 'mlp', 'norms')),
        layersPerStage: fc.option(count),
      }),
      sharding: fc.record({
        zeroStage: fc.constantFrom(0, 1, 2, 3),
        group: fc.oneof(fc.constantFrom('dp', 'dp-cp'), fc.record({ size: count })),
      }),
      offload: fc.record({ optimizer: fc.double({ min: 0, max: 1, noNaN: true }) }),
    });
    fc.assert(
      fc.property(inputs, (input) => {
        const plan = complete(input);
        expect(complete(parsePlanArgs(formatPlanArgs(plan, complete)))).toEqual(plan);
      }),
    );
  });
});

describe('choices', () => {
  test('gather the values of each field over all options', () => {
    expect(parseChoices(['tp=4,8', 'recompute.mode=full,selective,pp=1', 'tp=8'])).toEqual({
      tp: [4, 8],
      'recompute.mode': ['full', 'selective'],
      pp: [1],
    });
    expect(parseChoices(['tp=[2|4]', 'sequenceParallel=false'])).toEqual({ tp: [2, 4], sequenceParallel: [false] });
  });

  test.each([
    [['tq=8'], 'tq'],
    [['tp'], '--pin'],
    [['tp=full'], 'tp'],
    [['schedule.groupSize=null'], 'schedule.groupSize'],
    [['recompute.modules=mlp'], 'recompute.modules'],
  ])('%j is refused', (texts, path) => {
    expect(() => parseChoices(texts)).toThrow(expect.objectContaining({ code: 'bad-usage', path }));
  });

  test("a scenario's choices get full paths, and wrong ones are named", () => {
    expect(checkChoices({ zeroStage: [3], tp: [8] }, 'constraints.exclude')).toEqual({
      'sharding.zeroStage': [3],
      tp: [8],
    });
    expect(() => checkChoices({ tp: ['wide'] }, 'constraints.pin')).toThrow(
      expect.objectContaining({ code: 'invalid-field', message: expect.stringContaining('constraints.pin.tp') }),
    );
    expect(() => checkChoices({ tp: [8], TP: [4] }, 'constraints.pin')).toThrow(
      expect.objectContaining({ code: 'invalid-field', message: expect.stringContaining('named twice') }),
    );
    expect(() => checkChoices({ width: [8] }, 'constraints.pin')).toThrow(
      expect.objectContaining({ code: 'invalid-field', message: expect.stringContaining('"width"') }),
    );
  });
});
