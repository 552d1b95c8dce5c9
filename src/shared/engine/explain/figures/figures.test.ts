import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { figureSchema, type Figure } from '../../../schema/index.ts';
import { evaluatePlan } from '../../evaluate.ts';
import { fullestStage, stageMemory } from '../../memory/index.ts';
import type { Problem } from '../../problem.ts';
import { StepModel } from '../../step/index.ts';
import { caseArbitrary } from '../../testing/arbitraries.ts';
import { exampleIds } from '../../testing/catalog.ts';
import { exampleProblem, problemOf } from '../../testing/problems.ts';
import { explainFigure, explainList } from '../explain.ts';
import { figureIds, figureLines, figureOf, type FigureContext } from './index.ts';

function contextOf(problem: Problem, input: Parameters<typeof evaluatePlan>[1]): FigureContext {
  const { plan, estimate, verdict, violations, fixes } = evaluatePlan(problem, input);
  if (estimate === null || verdict === null) throw new Error(violations.map(({ message }) => message).join('; '));
  return { problem, plan, cost: new StepModel(problem).cost(plan), estimate, verdict, fixes };
}

function all(context: FigureContext): Figure[] {
  return figureIds(context).map((id) => {
    const figure = figureOf(context, id);
    if (figure === null) throw new Error(`no figure ${id}`);
    return figure;
  });
}

function each(figure: Figure, visit: (one: Figure, where: string) => void, path = figure.id): void {
  visit(figure, path);
  for (const child of figure.children) each(child, visit, `${path}/${child.id}`);
}

/** The value of a formula that holds only labels of inputs, numbers and + − · ÷ ( ); null for one in words. */
function computed({ formula, inputs }: Figure): number | null {
  const names = [...inputs].sort((a, b) => b.label.length - a.label.length);
  let rest = formula;
  const skipSpaces = () => (rest = rest.trimStart());
  const takes = (sign: string): boolean => {
    skipSpaces();
    if (!rest.startsWith(sign)) return false;
    rest = rest.slice(sign.length);
    return true;
  };
  const atom = (): number => {
    if (takes('(')) {
      const value = sum();
      return takes(')') ? value : NaN;
    }
    skipSpaces();
    const named = names.find(({ label }) => rest.startsWith(label));
    const text = named?.label ?? /^\d+(\.\d+)?/.exec(rest)?.[0] ?? '';
    rest = rest.slice(text.length);
    return text === '' ? NaN : (named?.value ?? Number(text));
  };
  const product = (): number => {
    let value = atom();
    for (;;) {
      if (takes('·')) value *= atom();
      else if (takes('÷')) value /= atom();
      else return value;
    }
  };
  const sum = (): number => {
    let value = product();
    for (;;) {
      if (takes('+')) value += product();
      else if (takes('−')) value -= product();
      else return value;
    }
  };
  if (formula === '') return null;
  const value = sum();
  skipSpaces();
  return Number.isNaN(value) || rest !== '' ? null : value;
}

const isNear = (a: number, b: number) => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b), 1e-12);

describe('every figure of any valid plan', () => {
  test('is of the contract’s shape, finite, with a source, and its children add up to it', () => {
    fc.assert(
      fc.property(caseArbitrary, ({ problem, plan }) => {
        for (const top of all(contextOf(problem, plan))) {
          expect(figureSchema.parse(top)).toEqual(top);
          each(top, ({ value, children, source, inputs }, where) => {
            expect(source, where).not.toBe('');
            for (const one of inputs) expect(Number.isFinite(one.value), `${where}: ${one.label}`).toBe(true);
            if (value !== null) expect(Number.isFinite(value), where).toBe(true);
            if (children.length === 0 || value === null) return;
            const sum = children.reduce((total, child) => total + (child.value ?? NaN), 0);
            const scale = children.reduce((total, child) => total + Math.abs(child.value ?? 0), 0);
            expect(Math.abs(sum - value), `${where}: ${sum} of ${value}`).toBeLessThanOrEqual(1e-9 * scale);
            expect(new Set(children.map(({ id }) => id)).size, where).toBe(children.length);
          });
        }
      }),
      { numRuns: 60 },
    );
  });

  test('follows from its formula where that is arithmetic', () => {
    let checked = 0;
    fc.assert(
      fc.property(caseArbitrary, ({ problem, plan }) => {
        for (const top of all(contextOf(problem, plan)))
          each(top, (one, where) => {
            const value = computed(one);
            if (value === null || one.value === null) return;
            checked += 1;
            expect(isNear(value, one.value), `${where}: ${one.formula} = ${value}, not ${one.value}`).toBe(true);
          });
      }),
      { numRuns: 60 },
    );
    expect(checked).toBeGreaterThan(60 * 20);
  });

  test('refers only to figures that there are, whose value is the input’s', () => {
    fc.assert(
      fc.property(caseArbitrary, ({ problem, plan }) => {
        const context = contextOf(problem, plan);
        const values = new Map(figureLines(context).map(({ id, value }) => [id, value]));
        for (const top of all(context))
          each(top, ({ inputs }, where) => {
            for (const { figure, value } of inputs) {
              if (figure === undefined || figure.startsWith('call.') || figure.startsWith('communication.')) continue;
              expect(values.has(figure), `${where} → ${figure}`).toBe(true);
              expect(isNear(values.get(figure) ?? NaN, value), `${where} → ${figure}`).toBe(true);
            }
          });
      }),
      { numRuns: 40 },
    );
  });
});

describe('the waterfall', () => {
  test('adds up from the peak to the MFU: ideal + losses = step, and 100 points − points lost = MFU', () => {
    fc.assert(
      fc.property(caseArbitrary, ({ problem, plan }) => {
        const context = contextOf(problem, plan);
        const { estimate } = context;
        const bars = figureOf(context, 'waterfall')?.children ?? [];
        const [ideal, ...losses] = bars;
        const points = (bar: Figure | undefined) => bar?.inputs.find(({ unit }) => unit === 'points')?.value ?? NaN;
        expect(bars.reduce((sum, { value }) => sum + (value ?? NaN), 0)).toBeCloseTo(estimate.stepSeconds, 10);
        expect(points(ideal)).toBeCloseTo(estimate.mfu, 10);
        expect(1 - losses.reduce((sum, bar) => sum + points(bar), 0)).toBeCloseTo(estimate.mfu, 9);
      }),
      { numRuns: 60 },
    );
  });
});

describe('memory', () => {
  test.each(exampleIds)('of %s: every state and every kept tensor has its formula', (id) => {
    const problem = exampleProblem(id);
    const context = contextOf(problem, problem.referencePlan ?? {});
    const peak = figureOf(context, 'peakMemoryBytes');
    expect(peak?.value).toBe(fullestStage(problem, context.plan).totalBytes);
    for (const category of peak?.children ?? []) {
      if (category.id === 'workspace') continue;
      each(category, ({ children, formula }, where) => {
        if (children.length === 0) expect(formula, where).not.toBe('');
      });
    }
  });

  test('each stage has its own figure', () => {
    const problem = problemOf({ numAccelerators: 16 });
    const context = contextOf(problem, { tp: 2, pp: 4, recompute: { mode: 'selective' } });
    expect(figureIds(context).filter((id) => id.startsWith('memoryByStage'))).toHaveLength(4);
    expect(figureOf(context, 'memoryByStage.2')?.value).toBe(stageMemory(problem, context.plan, 1).totalBytes);
    expect(figureOf(context, 'memoryByStage.5')).toBeNull();
    const moments = figureIds(context).filter((id) => id.startsWith('memoryAt.'));
    const values = moments.map((id) => figureOf(context, id)?.value ?? NaN);
    expect(moments).toHaveLength(4);
    expect(Math.max(...values)).toBe(context.estimate.peakMemoryBytes);
  });
});

describe('under LoRA', () => {
  const lora = problemOf({ tokens: 1e8, lora: { rank: 16, targets: ['attention', 'ffn'] } });
  const context = contextOf(lora, { tp: 2 });

  test('FLOPs, memory and checkpoints are told by what is trained, and add up', () => {
    for (const id of ['modelFlops', 'parameters', 'peakMemoryBytes', 'memoryAt.training', 'checkpointBytes']) {
      const figure = figureOf(context, id);
      if (figure === null) throw new Error(`no figure ${id}`);
      each(figure, (one, where) => {
        if (one.children.length === 0 || one.value === null) return;
        const sum = one.children.reduce((total, { value }) => total + (value ?? NaN), 0);
        expect(isNear(sum, one.value), `${where}: ${sum} of ${one.value}`).toBe(true);
      });
    }
    const trained = figureOf(context, 'trainedParameters')?.value ?? NaN;
    expect(trained).toBeLessThan(0.05 * context.estimate.parameters);
    expect(figureOf(context, 'checkpointBytes')?.value).toBe(14 * trained);
    expect(figureOf(context, 'modelFlops')?.children.map(({ id }) => id)).toContain('adapters');
  });
});

describe('the whole run', () => {
  test('a run of 16,384 H100 is interrupted every 3 h, as Llama 3’s was', () => {
    const problem = exampleProblem('llama-3.1-405b');
    const between = explainFigure(problem, problem.referencePlan ?? {}, 'meanTimeBetweenFailures');
    expect((between?.value ?? 0) / 3600).toBeCloseTo(3.09, 2);
    const goodput = explainFigure(problem, problem.referencePlan ?? {}, 'goodput');
    expect(goodput?.value).toBeGreaterThan(0.9); // Llama 3 §3.3.4: more than 90 % effective training time
    expect(goodput?.value).toBeLessThan(0.99);
  });

  test('without tokens there is no run, and it says so', () => {
    const figure = explainFigure(problemOf({ tokens: null }), { tp: 2 }, 'days');
    expect(figure?.value).toBeNull();
    expect(figure?.about).toContain('no tokens');
  });
});

test('a plan that breaks a rule has no figures; an unknown id has none either', () => {
  const problem = problemOf();
  expect(explainList(problem, { tp: 3 })).toBeNull();
  expect(explainFigure(problem, { tp: 3 }, 'mfu')).toBeNull();
  expect(explainFigure(problem, { tp: 2 }, 'nonsense')).toBeNull();
  expect(explainFigure(problem, { tp: 2 }, 'mfu.3')).toBeNull();
});
