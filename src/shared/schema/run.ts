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
  /** Routed experts, chosen per token and their width; shared_ffn is the width of all shared experts together. */
  moe: z
    .looseObject({
      experts: num,
      topk: num,
      moe_ffn: num,
      shared_experts: num,
      shared_ffn: num,
      dense_first: num,
    })
    .nullish(),
  /** Every n-th layer has experts. */
  moe_layer_interleave: num,
  mla: z.looseObject({ q_lora: num, kv_lora: num, qk_nope: num, qk_rope: num, v_head: num }).nullish(),
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
  overlap: text,
});
/** What the public recipe of a run sets, in its own words. */
export const runRecipeSchema = z.looseObject({
  from: text,
  /** Taken from another release of the same family (formats/runs/recipes.ts). */
  inherited: flag,
  recompute: text,
  recompute_modules: z.array(z.string()).nullish(),
  recompute_num_layers: num,
  cpu_offloading_num_layers: num,
  cuda_graph_impl: text,
  cuda_graph_scope: z.union([z.string(), z.array(z.string())]).nullish(),
  moe_a2a_overlap: flag,
  moe_dispatcher: text,
  use_megatron_fsdp: flag,
  sp: flag,
  tp_comm_overlap: flag,
  pp_p2p_overlap: flag,
  overlap_grad_sync: flag,
  overlap_param_sync: flag,
  optimizer: text,
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
  notes: text,
  source: z.looseObject({ title: text, url: text, where: text }).nullish(),
  model: runModelSchema,
  cluster: runClusterSchema,
  parallel: runParallelSchema,
  recipe: runRecipeSchema.nullish(),
  measured: runMeasuredSchema,
});
export type Run = z.infer<typeof runSchema>;
