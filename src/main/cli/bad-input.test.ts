import { existsSync, readdirSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { at, dir, removeFiles, trainyard } from './testing.ts';

afterAll(removeFiles);

describe('bad input', () => {
  const plan = (name: string) => ['plan', at(name)];
  test.each<[string, string[], RegExp]>([
    ['a text for a number', plan('type.trainyard'), /model\.numLayers.*"many"/],
    ['a missing field', plan('missing.trainyard'), /job\.globalBatchSize.*is missing/],
    ['zero', plan('zero.trainyard'), /cluster\.numAccelerators.*at least 1, found 0/],
    ['a negative size', plan('negative.trainyard'), /model\.hiddenSize.*found -1/],
    ['NaN', plan('null.trainyard'), /job\.globalBatchSize.*found null/],
    ['infinity', plan('infinite.trainyard'), /job\.seqLen.*Infinity/],
    ['several faults', plan('two.trainyard'), /2 faults in .*two\.trainyard:[^]*job\.globalBatchSize[^]*job\.seqLen/],
    ['an unknown model', plan('unknown.trainyard'), /model\.preset.*gpt-9[^]*gpt-1t/],
    ['an unknown pin', plan('pin.trainyard'), /constraints\.pin.*width/],
    ['half a file', plan('half.trainyard'), /half\.trainyard is not valid JSON/],
    ['an empty file', plan('empty.trainyard'), /empty/],
    ['a binary file', plan('binary.trainyard'), /not text/],
    ['a newer file', plan('newer.trainyard'), /version 2[^]*Update/],
    ['another kind of file', plan('other.json'), /not a Trainyard scenario/],
    ['a number', plan('number.json'), /not a Trainyard scenario/],
    ['a folder', plan('folder'), /it is a folder/],
    ['no such file', plan('nowhere.trainyard'), /no such file/],
    ['a file below a file', plan('plan.json/x'), /not a folder/],
    ['a preset without its prefix', ['plan', 'gpt-1t@8xa100'], /preset:gpt-1t@8xa100/],
    ['an unknown preset', ['plan', 'preset:gpt-9@8xa100'], /gpt-9/],
    ['a preset without a number', ['plan', 'preset:gpt-1t@a100'], /MODEL@COUNTxACCELERATOR/],
    ['half a node', ['plan', 'preset:gpt-1t@12xa100'], /whole nodes of 8/],
    ['--top 0', [...plan('small.trainyard'), '--top', '0'], /--top.*whole number from 1/],
    ['--top many', [...plan('small.trainyard'), '--top', 'many'], /--top/],
    ['--top nothing', [...plan('small.trainyard'), '--top'], /--top.*missing/],
    ['an unknown objective', [...plan('small.trainyard'), '--objective', 'beauty'], /beauty[^]*throughput/],
    ['an unknown pin option', [...plan('small.trainyard'), '--pin', 'tpp=8'], /tpp[^]*Did you mean tp/],
    ['a pin without a value', [...plan('small.trainyard'), '--pin', 'tp'], /KEY=VALUE/],
    ['a wrong exclusion', [...plan('small.trainyard'), '--exclude', 'tp=none'], /tp.*"none"/],
    ['an unknown option', [...plan('small.trainyard'), '--fast'], /unknown option '--fast'/],
    ['an unknown command', ['plna', 'x'], /unknown command 'plna'[^]*plan/],
    ['no scenario', ['plan'], /missing required argument 'scenario'/],
    ['two scenarios', ['plan', 'a', 'b'], /too many arguments/],
    ['no plan', ['evaluate', at('small.trainyard')], /no plan to evaluate[^]*--plan/],
    ['a nonsense plan', ['evaluate', at('small.trainyard'), '--plan', 'nonsense'], /"nonsense" is neither a file nor/],
    ['a plan of unknown fields', ['evaluate', at('small.trainyard'), '--plan', 'width=8'], /no plan field "width"/],
    ['a plan of wrong values', ['evaluate', at('small.trainyard'), '--plan', 'tp=0'], /tp must be at least 1/],
    ['a wrong plan file', ['evaluate', at('small.trainyard'), '--plan', at('bad-plan.json')], /tp.*"eight"/],
    ['a plan file that is none', ['evaluate', at('small.trainyard'), '--plan', at('half.trainyard')], /not valid JSON/],
    ['no runs file', ['validate', at('nowhere.json')], /no such file/],
    ['a runs file that is none', ['validate', at('small.trainyard')], /neither a list of measured runs/],
    ['a wrong calibration', ['validate', at('runs.json'), '--calibration', at('other.json')], /format/],
    ['two files', ['import', at('small.trainyard'), at('small.trainyard')], /one scenario file at a time/],
    ['an unknown format', ['export', at('small.trainyard'), '--as', 'pdf'], /--as.*trainyard, json/],
    ['an unwritable file', ['export', at('small.trainyard'), '-o', at('plan.json/x')], /cannot be written/],
    ['a wrong port', ['browser', '--port', '99999'], /--port.*65535/],
    ['an unusable data folder', ['browser', '--data-dir', at('plan.json/data')], /data folder[^]*--data-dir/],
  ])('%s: exit code 2, the place and the remedy', async (_what, args, told) => {
    const before = readdirSync(dir);
    const { exitCode, out, err } = await trainyard(args);
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: '' });
    expect(err).toMatch(told);
    expect(err.split('\n').filter((line) => line !== '').length).toBeGreaterThan(1); // what is wrong, and what to do
    expect(err).not.toMatch(/internal error|at file:|node_modules/);
    expect(readdirSync(dir)).toEqual(before);
  });

  test('with --json the fault is the one document', async () => {
    for (const args of [
      ['plan', at('type.trainyard'), '--json'],
      ['plan', at('type.trainyard'), '--json', '--top', '0'],
    ]) {
      const { exitCode, json, err } = await trainyard(args);
      expect(exitCode).toBe(2);
      expect(json()).toMatchObject({
        error: {
          code: expect.any(String),
          path: expect.any(String),
          remedy: expect.any(String),
        },
      });
      expect(err).not.toBe('');
    }
  });

  test('a data folder is not made by a refused command', () => {
    expect(existsSync(at('plan.json/data'))).toBe(false);
  });
});
