import { expect, test } from 'vitest';
import type { Run } from '../../schema/index.ts';
import { withInheritedRecipes } from './recipes.ts';

const row = (framework_version: string, recipe: Run['recipe'], change: object = {}): Run => ({
  ...{ id: framework_version, framework_version, recipe, source: { title: 'summary' } },
  ...{ model: { name: 'Qwen3 30B' }, cluster: { gpu: 'B200', total_gpus: 8 }, parallel: {}, measured: {}, ...change },
});
const graphs = (cuda_graph_impl: string) => ({ cuda_graph_impl });
const implOf = ({ recipe }: Run) => recipe?.cuda_graph_impl ?? null;

test('a row without a recipe takes that of the nearest release of its family, and says so', () => {
  const rows = withInheritedRecipes([
    row('25.09', null, { model: { name: 'Qwen3_30B (tokendrop)' } }),
    row('26.02', graphs('transformer_engine')),
    row('26.06', graphs('full_iteration')),
    row('26.08', null),
    row('26.08', null, { cluster: { gpu: 'H100', total_gpus: 8 } }),
    row('26.08', null, { source: { title: 'another' } }),
  ]);
  expect(rows.map(implOf)).toEqual([
    'transformer_engine',
    'transformer_engine',
    'full_iteration',
    'full_iteration',
    null,
    null,
  ]);
  expect(rows[3]?.recipe).toMatchObject({ inherited: true, from: '26.06' });
  expect(rows[1]?.recipe?.inherited).toBeUndefined();
});
