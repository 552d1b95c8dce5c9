/** What single changes of a plan save and cost: the plan estimated again with each. */
import type { Fix } from '../../../schema/index.ts';
import { figure, input, numberIn, type FigureContext, type FigureKinds } from './types.ts';

const SOURCE = 'the plan estimated again with this change (docs/MODEL.md §6.4)';

function fixOf({ fixes }: FigureContext, id: string): Fix {
  const fix = fixes[numberIn(id) - 1];
  if (fix === undefined) throw new Error(`no change ${id}`);
  return fix;
}

const idsOf =
  (name: string) =>
  ({ fixes }: FigureContext): string[] =>
    fixes.map((_, index) => `${name}.${index + 1}`);

export const fixes: FigureKinds = {
  fixSaves: {
    group: 'memory',
    ids: idsOf('fixSaves'),
    build: (context, id) => {
      const { change, savesBytes } = fixOf(context, id);
      const { peakMemoryBytes } = context.estimate;
      return figure({
        label: `Saved if you ${change}`,
        value: savesBytes,
        unit: 'B',
        formula: 'peak memory − peak memory after the change',
        inputs: [
          input('peak memory', peakMemoryBytes, 'B', 'peakMemoryBytes'),
          input('peak memory after the change', peakMemoryBytes - savesBytes, 'B'),
        ],
        source: SOURCE,
      });
    },
  },
  fixCosts: {
    group: 'memory',
    ids: idsOf('fixCosts'),
    build: (context, id) => {
      const { change, costsSeconds } = fixOf(context, id);
      const { stepSeconds } = context.estimate;
      return figure({
        label: `Added to a step if you ${change}`,
        value: costsSeconds,
        unit: 's',
        formula: 'step time after the change − step time',
        inputs: [
          input('step time after the change', stepSeconds + costsSeconds, 's'),
          input('step time', stepSeconds, 's', 'stepSeconds'),
        ],
        source: SOURCE,
      });
    },
  },
};
