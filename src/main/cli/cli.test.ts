import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import type { Evaluation } from '#shared/contract.ts';
import { estimateSchema, planSchema, scenarioSchema } from '#shared/schema/index.ts';
import type { PlanAnswer } from '../services/answers.ts';
import type { ImportReport } from '../services/provenance.ts';
import type { ValidationReport } from '../services/validation.ts';
import { at, dir, removeFiles, trainyard } from './testing.ts';

afterAll(removeFiles);

type Ran = Awaited<ReturnType<typeof trainyard>>;
const answerOf = ({ json }: Ran) => json() as PlanAnswer;
const evaluationOf = ({ json }: Ran) => json() as Evaluation;
const reportOf = ({ json }: Ran) => json() as ValidationReport;
const importOf = ({ json }: Ran) => json() as ImportReport;

describe('plan', () => {
  test('the example: at least as fast as the published split, which is listed', async () => {
    const ran = await trainyard(['plan', 'preset:gpt-1t@3072xA100-80GB', '--top', '5', '--json']);
    expect([ran.exitCode, ran.err]).toEqual([0, '']);
    const { best, frontier, reference, stats } = answerOf(ran);
    for (const item of [...best, ...frontier]) {
      planSchema.parse(item.plan);
      estimateSchema.parse(item.estimate);
    }
    expect(best.filter((item: object) => 'reference' in item)).toHaveLength(1);
    expect(best.length).toBeLessThanOrEqual(6);
    expect(reference).toMatchObject({ label: 'published split', plan: { tp: 8, pp: 64, dp: 6 }, verdict: 'fits' });
    expect(best[0]!.estimate.stepSeconds).toBeLessThanOrEqual(reference!.estimate.stepSeconds);
    expect(best.at(-1)).toMatchObject({ plan: reference!.plan, reference: true });
    expect(Object.keys(stats)).toEqual(
      expect.arrayContaining(['enumerated', 'prunedByReason', 'evaluated', 'feasible', 'seconds', 'workers']),
    );
  });

  test('is readable: a sentence, an aligned table, a chart, no colours, no wider than the terminal', async () => {
    const { exitCode, out, err } = await trainyard(['plan', at('small.trainyard'), '--stats'], 90);
    expect([exitCode, err]).toEqual([0, '']);
    expect(out).toMatch(/TP \d+ · PP \d+ · DP \d+.*:\n.* a step.* MFU, .* of 79\.1 GiB/);
    expect(out).toMatch(/^ *# +TP +PP/m);
    expect(out).toMatch(/^Ideal +█+/m);
    expect(out).toMatch(/^covered +[\d,]+$/m);
    expect(out).not.toContain('\u001b');
    const framed = out.split('\n').filter((line) => /[█─]/.test(line));
    expect(framed.filter((line) => line.length > 90)).toEqual([]);
  });

  test('the printed arguments are the best plan', async () => {
    for (const source of [at('small.trainyard'), 'preset:llama-3.1-405b@16384xh100']) {
      const { out } = await trainyard(['plan', source, '--top', '1']);
      const plan = /--plan '?([^'\n]+)/.exec(out)?.[1] ?? '';
      const [best] = answerOf(await trainyard(['plan', source, '--top', '1', '--json'])).best;
      const evaluation = evaluationOf(await trainyard(['evaluate', source, '--plan', plan, '--json']));
      expect(evaluation.plan).toEqual(best!.plan);
      expect(evaluation.estimate).toEqual(best!.estimate);
    }
  });

  test('pins, exclusions and objectives hold', async () => {
    const args = ['plan', at('small.trainyard'), '--json', '--pin', 'tp=2,4', '--exclude', 'recompute.mode=full,none'];
    const { best, objective } = answerOf(await trainyard([...args, '--objective', 'memory-headroom', '--top', '30']));
    expect(objective).toBe('memory-headroom');
    expect(best.length).toBeGreaterThan(1);
    for (const { plan } of best) expect([2, 4].includes(plan.tp) && plan.recompute.mode === 'selective').toBe(true);
    const bytes = best.map(({ estimate }) => estimate.peakMemoryBytes);
    expect(bytes).toEqual(bytes.toSorted((a, b) => a - b));
  });

  test('the answer does not depend on the number of workers', async () => {
    const answer = async (workers: string) => {
      const args = ['plan', 'preset:gpt-22b@64xa100', '--json', '--workers', workers];
      const { stats, ...rest } = answerOf(await trainyard(args));
      return { ...rest, stats: { ...stats, seconds: 0, workers: 0 } };
    };
    expect(await answer('3')).toEqual(await answer('1'));
  });

  test('answers no where nothing fits, and why', async () => {
    const ran = await trainyard(['plan', 'preset:gpt-1t@8xa100', '--json']);
    expect(ran.exitCode).toBe(1);
    expect(answerOf(ran)).toMatchObject({ best: [], frontier: [], reference: null });
    expect(answerOf(ran).whyEmpty.length).toBeGreaterThan(0);
    expect((await trainyard(['plan', 'preset:gpt-1t@8xa100'])).out).toContain('No plan fits.');
  });

  test("says why the scenario's own plan is not listed", async () => {
    const ran = await trainyard(['plan', at('with-plan.trainyard'), '--json']);
    expect([ran.exitCode, answerOf(ran).reference]).toEqual([0, null]);
    expect(ran.err).toMatch(/own plan is not listed: .*tp/);
  });
});

describe('evaluate', () => {
  const published = 'tp=8,pp=64,microBatchSize=1,recompute.mode=full,schedule.name=1f1b';

  test('a good plan', async () => {
    const args = ['evaluate', 'preset:gpt-1t@3072xA100-80GB', '--plan', published];
    const ran = await trainyard([...args, '--json']);
    expect([ran.exitCode, ran.err]).toEqual([0, '']);
    expect(ran.json()).toMatchObject({ valid: true, violations: [], nearestPlan: null, verdict: 'fits', fixes: [] });
    estimateSchema.parse(evaluationOf(ran).estimate);
    const { out } = await trainyard(args);
    expect(out).toMatch(/TP 8 · PP 64 · DP 6, .* fits:/);
    expect(out).toMatch(/^stage 1 +█+.*GiB$/m);
  });

  test('a plan that breaks rules: every rule, the nearest plan, exit code 1', async () => {
    const args = ['evaluate', at('small.trainyard'), '--plan', 'tp=3,pp=5'];
    const ran = await trainyard([...args, '--json']);
    expect(ran.exitCode).toBe(1);
    expect(ran.json()).toMatchObject({ valid: false, verdict: null, estimate: null });
    expect(evaluationOf(ran).violations.length).toBeGreaterThan(2);
    planSchema.parse(evaluationOf(ran).nearestPlan);
    expect((await trainyard(args)).out).toMatch(/is not valid\.\n {2}- .*\nNearest valid plan: .*\n {2}--plan /s);
  });

  test('a plan that runs out of memory: what would help, exit code 1', async () => {
    const args = ['evaluate', 'preset:llama-3.1-8b@8xh100', '--plan', 'tp=1,mbs=4,recompute=none'];
    const ran = await trainyard([...args, '--json']);
    expect([ran.exitCode, evaluationOf(ran).verdict]).toEqual([1, 'out-of-memory']);
    expect(evaluationOf(ran).fixes.length).toBeGreaterThan(0);
    expect((await trainyard(args)).out).toMatch(/runs out of memory:[^]*What would help:/);
  });

  test("takes a plan file, and the scenario's own plan", async () => {
    const fromFile = await trainyard(['evaluate', at('small.trainyard'), '--plan', at('plan.json'), '--json']);
    expect(evaluationOf(fromFile).plan).toMatchObject({ tp: 2, dp: 4, microBatchSize: 4 });
    expect(evaluationOf(await trainyard(['evaluate', at('with-plan.trainyard'), '--json'])).plan.tp).toBe(3);
  });
});

describe('validate', () => {
  test('predicted against measured, and why a row is skipped', async () => {
    const ran = await trainyard(['validate', at('runs.json'), '--json']);
    expect(ran.exitCode).toBe(0);
    const { rows, summary } = reportOf(ran);
    expect(rows.map((row) => row.id)).toEqual(['gpt-1t', 'unknown-tp']);
    expect(rows[0]!.errorFraction).toBeCloseTo(rows[0]!.predicted.stepSeconds! / 102.63 - 1, 9);
    expect(rows[1]!.skipped).toContain('parallel.tp');
    expect(summary).toMatchObject({ stepTime: { count: 1 }, skipped: 1 });
    const { out } = await trainyard(['validate', at('runs.json')]);
    expect(out).toMatch(/Step time of 1 runs: mean absolute error [\d.]+ %[^]*^gpt-1t +[\d.]+ +102\.6 /m);
    expect(out).toMatch(/^unknown-tp +unknown: .*parallel\.tp/m);
  });

  test('answers no where no row can be predicted', async () => {
    expect((await trainyard(['validate', at('no-runs.json'), '--json'])).exitCode).toBe(1);
  });
});

/** Mixtral-8x7B-v0.1, its fields that decide sizes. */
const mixtral = {
  architectures: ['MixtralForCausalLM'],
  hidden_size: 4096,
  intermediate_size: 14336,
  num_attention_heads: 32,
  num_experts_per_tok: 2,
  num_hidden_layers: 32,
  num_key_value_heads: 8,
  num_local_experts: 8,
  sliding_window: null,
  tie_word_embeddings: false,
  vocab_size: 32000,
};

describe('import and export', () => {
  test('import says what was read, filled in and missing', async () => {
    const ran = await trainyard(['import', at('small.trainyard'), '--json']);
    expect(ran.exitCode).toBe(0);
    expect(ran.json()).toMatchObject({
      kind: 'scenario',
      model: { numLayers: 16 },
      parameters: { total: 1_235_814_400, active: 1_235_814_400 },
      provenance: {
        'model.numLayers': 'preset llama-3.2-1b',
        'cluster.numAccelerators': 'file',
        'job.framework.family': 'default',
      },
      missing: [],
      warnings: [],
    });
    expect(importOf(ran).assumed).toContain('job.precision.compute = "bf16"');
    expect((await trainyard(['import', at('small.trainyard')])).out).toMatch(
      /^model +Llama 3\.2 1B, 1\.24B parameters/m,
    );
  });

  test('a Hugging Face configuration is read: its model, its parameters, and with -o a scenario round it', async () => {
    const file = at('config.json');
    writeFileSync(file, JSON.stringify(mixtral));
    const ran = await trainyard(['import', file, '--json']);
    expect(ran.exitCode).toBe(0);
    expect(ran.json()).toMatchObject({
      kind: 'hf-config',
      model: { moe: { numExperts: 8, expertsPerToken: 2 } },
      parameters: { total: 46_702_792_704, active: 12_879_925_248, activePerToken: 12_879_925_248 },
      missing: ['cluster', 'job'],
    });
    expect((await trainyard(['import', file])).out).toMatch(/per token.*12\.9B pass one token/);
    const output = at('mixtral.trainyard');
    expect((await trainyard(['import', file, '-o', output])).exitCode).toBe(0);
    const planned = await trainyard(['evaluate', output, '--plan', 'tp=4,pp=4', '--json']);
    expect(planned.json()).toMatchObject({ valid: true, estimate: { parameters: 46_702_792_704 } });
  });

  test('import -o writes a complete scenario once; --force replaces it', async () => {
    const output = at('complete.trainyard');
    expect((await trainyard(['import', at('small.trainyard'), '-o', output])).exitCode).toBe(0);
    const scenario = scenarioSchema.parse(JSON.parse(readFileSync(output, 'utf8')));
    expect(scenario.model.hiddenSize).toBe(2048);
    const again = await trainyard(['import', at('with-plan.trainyard'), '-o', output]);
    expect([again.exitCode, again.err]).toEqual([2, expect.stringMatching(/there already.*\n.*--force/)]);
    expect(JSON.parse(readFileSync(output, 'utf8'))).toEqual(scenario);
    expect((await trainyard(['import', at('with-plan.trainyard'), '-o', output, '--force'])).exitCode).toBe(0);
    expect(JSON.parse(readFileSync(output, 'utf8'))).toMatchObject({ plan: { tp: 3 } });
    expect(readdirSync(dir).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  test('an exported preset is a scenario that plans the same', async () => {
    const output = at('exported.trainyard');
    await trainyard(['export', 'preset:gpt-1t@3072xa100', '--as', 'trainyard', '-o', output]);
    const evaluated = async (source: string) => (await trainyard(['evaluate', source, '--json'])).json();
    expect(await evaluated(output)).toEqual(await evaluated('preset:gpt-1t@3072xa100'));
    const { out } = await trainyard(['export', output]);
    expect(out).toBe(readFileSync(output, 'utf8'));
    expect((await trainyard(['export', output, '--as', 'json'])).json()).toMatchObject({
      kind: 'scenario',
      job: { seqLen: 2048 },
    });
  });
});

describe('the rest', () => {
  test('catalog lists everything that can be named', async () => {
    const { json } = await trainyard(['catalog', '--json']);
    expect(Object.keys(json() as object)).toEqual(['accelerators', 'models', 'clusters', 'examples']);
    expect((await trainyard(['catalog'])).out).toContain('preset:gpt-1t@3072xa100-80gb-sxm');
  });

  test('help and version', async () => {
    for (const args of [['--help'], ['plan', '--help'], ['help'], []])
      expect(await trainyard(args)).toMatchObject({
        exitCode: 0,
        out: expect.stringContaining('Usage: trainyard'),
        err: '',
      });
    expect(await trainyard(['--version'])).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });

  test('commands and options are known (growth is to be seen)', async () => {
    const { out } = await trainyard(['--help']);
    const commands = [...out.matchAll(/^ {2}([a-z]+) /gm)].map((match) => match[1]!).filter((name) => name !== 'help');
    const flags: Record<string, string[]> = {};
    for (const command of commands) {
      const help = (await trainyard([command, '--help'])).out;
      flags[command] = [...help.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map((match) => match[1]!);
    }
    expect(flags).toMatchInlineSnapshot(`
      {
        "browser": [
          "--port",
          "--data-dir",
          "--help",
        ],
        "calibrate": [
          "--output",
          "--force",
          "--folds",
          "--few",
          "--json",
          "--help",
        ],
        "cases": [
          "--wrong",
          "--json",
          "--help",
        ],
        "catalog": [
          "--json",
          "--help",
        ],
        "evaluate": [
          "--plan",
          "--json",
          "--help",
        ],
        "evidence": [
          "--missing",
          "--json",
          "--help",
        ],
        "explain": [
          "--plan",
          "--depth",
          "--json",
          "--help",
        ],
        "export": [
          "--as",
          "--output",
          "--force",
          "--json",
          "--help",
        ],
        "import": [
          "--output",
          "--force",
          "--json",
          "--help",
        ],
        "plan": [
          "--top",
          "--objective",
          "--pin",
          "--exclude",
          "--workers",
          "--stats",
          "--json",
          "--help",
        ],
        "validate": [
          "--calibration",
          "--json",
          "--help",
        ],
      }
    `);
  });
});
