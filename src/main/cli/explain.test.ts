import { afterAll, describe, expect, test } from 'vitest';
import { figureSchema } from '#shared/schema/index.ts';
import { removeFiles, trainyard } from './testing.ts';

afterAll(removeFiles);

const scenario = 'preset:gpt-1t@3072xa100-80gb-sxm';

describe('explain', () => {
  test('lists the numbers of a plan by subject', async () => {
    const { exitCode, out, err } = await trainyard(['explain', scenario]);
    expect([exitCode, err]).toEqual([0, '']);
    for (const text of ['stepSeconds', 'mfu', 'memoryByStage.64', 'communication.1', 'daysWithFailures', 'energyKwh'])
      expect(out).toMatch(new RegExp(`^${text.replace('.', '\\.')} `, 'm'));
    expect(out).not.toContain('memoryByStage.32'); // of 64 stages the ends are enough
  });

  test('opens a number: value, formula, inputs that open in turn, source', async () => {
    const { exitCode, out } = await trainyard(['explain', scenario, 'mfu']);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^MFU: \d\d.*%/);
    expect(out).toContain('= model FLOPs ÷ (step time · peak of the cluster)');
    expect(out).toMatch(/model FLOPs = .* EFLOP {2}\[modelFlops\]/);
    expect(out).toContain('Source: docs/MODEL.md');
  });

  test('a path opens a part; JSON is one document', async () => {
    const { json } = await trainyard(['explain', scenario, 'stepSeconds/pipeline', '--json']);
    const { figure } = json() as { figure: unknown };
    const { id, children } = figureSchema.parse(figure);
    expect(id).toBe('stepSeconds/pipeline');
    expect(children.length).toBeGreaterThan(1);
  });

  test('a misspelt number is told the nearest; a part that is not there what there is', async () => {
    const misspelt = await trainyard(['explain', scenario, 'stepSecond']);
    expect([misspelt.exitCode, misspelt.out]).toEqual([2, '']);
    expect(misspelt.err).toContain('Did you mean "stepSeconds"?');
    const lost = await trainyard(['explain', scenario, 'stepSeconds/nothing']);
    expect([lost.exitCode, lost.err]).toEqual([2, expect.stringContaining('"stepSeconds" has no part "nothing"')]);
  });

  test('a broken plan has no numbers, and the reason is told', async () => {
    const { exitCode, err } = await trainyard(['explain', scenario, 'mfu', '--plan', 'tp=7']);
    expect(exitCode).toBe(2);
    expect(err).toContain('do not divide over tp = 7');
  });
});
