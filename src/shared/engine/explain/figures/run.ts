/** The whole run: days, accelerator-hours, cost and energy. Source: docs/MODEL.md §7.2, §7.5. */
import { typicalPower } from '../../planning/cost.ts';
import { accelerators, hasTokens, NO_TOKENS, ofRun, run, runOf, stepTime, tokensPerStep } from './run-context.ts';
import { figure, input, type FigureContext, type FigureKind, type FigureKinds } from './types.ts';

const money = (context: FigureContext) => context.problem.price?.currency ?? '';

function costFigure(label: string, hoursOf: (context: FigureContext) => ReturnType<typeof input>): FigureKind {
  return run((context) => {
    const { price } = context.problem;
    const head = { label, unit: money(context), source: 'the scenario’s price; docs/MODEL.md §7.5' };
    if (!hasTokens(context) || price === null)
      return figure({
        ...head,
        value: null,
        about: price === null ? 'The scenario states no price.' : NO_TOKENS,
      });
    const hours = hoursOf(context);
    return figure({
      ...head,
      value: hours.value * price.perAcceleratorHour,
      formula: `${hours.label} · price of an accelerator-hour`,
      inputs: [hours, input('price of an accelerator-hour', price.perAcceleratorHour, price.currency)],
    });
  });
}

export const wholeRun: FigureKinds = {
  days: ofRun(
    {
      label: 'Days of training',
      unit: 'days',
      about: 'At one step’s pace, without failures, checkpoints or evaluation.',
      formula: 'tokens of the run ÷ tokens per step · step time ÷ seconds of a day',
      source: 'docs/MODEL.md §7.2',
    },
    (context) => ({
      value: context.estimate.days,
      inputs: [
        input('tokens of the run', context.problem.workload.tokens ?? 0),
        input('tokens per step', tokensPerStep(context), '', 'tokensPerStep'),
        stepTime(context),
        input('seconds of a day', 86_400, 's'),
      ],
    }),
  ),
  daysWithFailures: ofRun(
    {
      label: 'Days with failures and checkpoints',
      unit: 'days',
      about:
        'What is expected when the job fails as often as Llama 3’s did and writes checkpoints at the best interval.',
      formula: 'days of training ÷ goodput',
      source: 'docs/MODEL.md §7.3–7.4',
    },
    ({ estimate }, one) => ({
      value: one.days,
      inputs: [
        input('days of training', estimate.days ?? 0, 'days', 'days'),
        input('goodput', one.goodput, 'fraction', 'goodput'),
      ],
    }),
  ),
  acceleratorHours: ofRun(
    {
      label: 'Accelerator-hours',
      unit: 'h',
      formula: 'days of training · 24 · accelerators',
      source: 'docs/MODEL.md §7.2',
    },
    (context) => ({
      value: context.estimate.acceleratorHours,
      inputs: [input('days of training', context.estimate.days ?? 0, 'days', 'days'), accelerators(context)],
    }),
  ),
  cost: costFigure('Cost', ({ estimate }) =>
    input('accelerator-hours', estimate.acceleratorHours ?? 0, 'h', 'acceleratorHours'),
  ),
  costWithFailures: costFigure('Cost with failures and checkpoints', (context) =>
    input('accelerator-hours with failures', runOf(context).acceleratorHours, 'h'),
  ),
  energyKwh: run((context) => {
    const watts = context.problem.device.powerWatts;
    const { utilisation, nodeFactor, pue } = typicalPower;
    const head = { label: 'Energy', unit: 'kWh', source: 'docs/MODEL.md §7.5; arXiv 2412.08602' };
    if (watts === null || !hasTokens(context))
      return figure({ ...head, value: null, about: watts === null ? 'The part’s power is not published.' : NO_TOKENS });
    const one = runOf(context);
    return figure({
      ...head,
      value: one.kwh,
      about: 'Of accelerators, the rest of their nodes and the building, failures included.',
      formula: 'accelerator-hours with failures · rated power · share drawn · node factor · building factor ÷ 1000',
      inputs: [
        input('accelerator-hours with failures', one.acceleratorHours, 'h'),
        input('rated power', watts, 'W'),
        input('share drawn', utilisation, 'fraction'),
        input('node factor', nodeFactor, 'ratio'),
        input('building factor', pue, 'ratio'),
      ],
    });
  }),
};
