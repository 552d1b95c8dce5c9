/** For the tests of the command line: a folder of scenario files, good and bad, and a way to run commands. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runCommandLine } from './program.ts';

const small = {
  format: 'trainyard/scenario',
  version: 1,
  name: 'Small',
  model: { preset: 'llama-3.2-1b' },
  cluster: { accelerator: 'H100', numAccelerators: 8 },
  job: { globalBatchSize: 64, seqLen: 2048, tokens: 1e9 },
};
const text = (change: object = {}) => JSON.stringify({ ...small, ...change });
const run = (id: string, change: object = {}) => ({
  id,
  framework: 'Megatron-LM',
  framework_version: '2021 (PTD-P)',
  source: { title: 'SC21' },
  model: { layers: 128, hidden: 25600, heads: 160, vocab: 51200, seq: 2048, gated: false, tied_embeddings: true },
  cluster: { gpu: 'A100-80GB', gpus_per_node: 8, total_gpus: 3072, inter_node_gbps_per_gpu: 200 },
  parallel: { tp: 8, pp: 64, dp: 6, mbs: 1, gbs: 3072, recompute: 'full', precision: 'fp16' },
  measured: { step_s: 102.63 },
  ...change,
});
const files: Record<string, string | Uint8Array> = {
  'small.trainyard': text(),
  'with-plan.trainyard': text({ plan: { tp: 3 } }),
  'plan.json': '{"tp":2,"microBatchSize":4}',
  'runs.json': JSON.stringify([run('gpt-1t'), run('unknown-tp', { parallel: {} })]),
  'no-runs.json': JSON.stringify([run('unknown-tp', { parallel: {} })]),
  'half.trainyard': text().slice(0, 90),
  'empty.trainyard': '',
  'binary.trainyard': new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe, 0x00]),
  'newer.trainyard': text({ version: 2 }),
  'other.json': '{"model_type":"llama"}',
  'number.json': '7',
  'type.trainyard': text({ model: { preset: 'gpt-1t', numLayers: 'many' } }),
  'missing.trainyard': text({ job: { seqLen: 2048 } }),
  'zero.trainyard': text({ cluster: { accelerator: 'H100', numAccelerators: 0 } }),
  'negative.trainyard': text({ model: { preset: 'gpt-1t', hiddenSize: -1 } }),
  'null.trainyard': text({ job: { ...small.job, globalBatchSize: Number.NaN } }),
  'infinite.trainyard': text().replace('2048', '1e999'),
  'unknown.trainyard': text({ model: { preset: 'gpt-9' } }),
  'pin.trainyard': text({ constraints: { pin: { width: [1] } } }),
  'two.trainyard': text({ job: { globalBatchSize: 0, seqLen: 'long' } }),
  'bad-plan.json': '{"tp":"eight"}',
};

/** The folder with these files; each test file has its own. */
export const dir = mkdtempSync(path.join(os.tmpdir(), 'trainyard-cli-'));
for (const [name, content] of Object.entries(files)) writeFileSync(path.join(dir, name), content);
mkdirSync(path.join(dir, 'folder'));

export const removeFiles = () => rmSync(dir, { recursive: true });

/** The path of one of them. */
export const at = (name: string) => path.join(dir, name);

/** Runs a command line as a person would, with what it wrote. */
export async function trainyard(args: readonly string[], columns = 120) {
  let [out, err] = ['', ''];
  const terminal = {
    out: (piece: string) => void (out += piece),
    err: (piece: string) => void (err += piece),
    columns,
    isWatched: false,
    hasStyles: false,
  };
  const exitCode = await runCommandLine(terminal, args);
  const json = (): unknown => JSON.parse(out);
  return { exitCode, out, err, json };
}
