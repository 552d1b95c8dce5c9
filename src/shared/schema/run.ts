/**
 * Measured runs, in the schema of the public record (one row per published measurement). Only what is read is typed;
 * other keys are kept. `null` and absent mean unknown, never "off".
 */
import { z } from 'zod';

const num = z.number().nullish();
const text = z.string().nullish();
const flag = z.boolean().nullish();

export const runModelSchema = z.looseObject({
  name: text,
  layers: num,
  hidden: num,
  heads: num,
  kv_heads: num,
  head_dim: num,
  ffn: num,
  gated: flag,
  vocab: num,
  seq: num,
  tied_embeddings: flag,
  params_b: num,
  moe: z.unknown().optional(),
  mla: z.unknown().optional(),
  mtp_layers: num,
});
export const runClusterSchema = z.looseObject({
  gpu: text,
  gpus_per_node: num,
  total_gpus: num,
  intra_link: text,
  inter_node_gbps_per_gpu: num,
});
export const runParallelSchema = z.looseObject({
  tp: num,
  pp: num,
  dp: num,
  cp: num,
  ep: num,
  etp: num,
  vp: num,
  sp: flag,
  mbs: num,
  gbs: num,
  grad_accum: num,
  zero: z.union([z.number(), z.string()]).nullish(),
  dist_opt: flag,
  recompute: text,
  precision: text,
  overlap: z.unknown().optional(),
});
export const runMeasuredSchema = z.looseObject({
  step_s: num,
  iter_s: num,
  tokens_s_gpu: num,
  tflops_gpu: num,
  mfu: num,
  hfu: num,
  samples_s: num,
  peak_mem_gb: num,
  peak_mem_kind: text,
  flops_def: text,
});

export const runSchema = z.looseObject({
  id: z.string().min(1),
  framework: text,
  framework_version: text,
  task: text,
  quality: text,
  flags: z.array(z.unknown()).nullish(),
  source: z.looseObject({ title: text, url: text, where: text }).nullish(),
  model: runModelSchema,
  cluster: runClusterSchema,
  parallel: runParallelSchema,
  measured: runMeasuredSchema,
});
export type Run = z.infer<typeof runSchema>;
