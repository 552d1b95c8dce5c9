/** The model of a row. */
import type { Run, ScenarioInput } from '../../schema/index.ts';
import type { Stack } from './stack.ts';

type Model = ScenarioInput['model'];

/** Heads of about 128 that divide the hidden size and, where it can be, go evenly over tp. */
function guessedHeads(hidden: number, tp: number): number {
  let best = 1;
  const distance = (heads: number) =>
    Math.abs(Math.log(hidden / heads / 128)) + (heads % tp === 0 ? 0 : 100) + ((hidden / heads) % 8 === 0 ? 0 : 10);
  for (let heads = 1; heads * 32 <= hidden; heads++)
    if (hidden % heads === 0 && distance(heads) < distance(best)) best = heads;
  return best;
}

function readExperts({ model }: Run): Model['moe'] {
  const { moe } = model;
  if (moe == null) return null;
  const shared = moe.shared_ffn ?? (moe.shared_experts ?? 0) * (moe.moe_ffn ?? 0);
  return {
    numExperts: moe.experts ?? 1,
    expertsPerToken: moe.topk ?? 1,
    expertFfnHiddenSize: moe.moe_ffn ?? 1,
    sharedExpertFfnHiddenSize: shared,
    sharedExpertGate: false,
    denseFirst: moe.dense_first ?? 0,
    everyN: model.moe_layer_interleave ?? 1,
    router: null,
  };
}

function readLatent({ model: { mla } }: Run): Model['mla'] {
  if (mla == null) return null;
  return {
    // 0 and null both stand for queries that are projected directly
    qLoraRank: mla.q_lora == null || mla.q_lora === 0 ? null : mla.q_lora,
    kvLoraRank: mla.kv_lora ?? 1,
    qkNopeHeadDim: mla.qk_nope ?? 1,
    qkRopeHeadDim: mla.qk_rope ?? 1,
    vHeadDim: mla.v_head ?? 1,
  };
}

/** What experts and latent attention need and a row lacks. */
export function missingModelFields({ model: { moe, mla } }: Run): string[] {
  const needed: Record<string, unknown> = {
    ...(moe == null
      ? {}
      : { 'model.moe.experts': moe.experts, 'model.moe.topk': moe.topk, 'model.moe.moe_ffn': moe.moe_ffn }),
    ...(mla == null
      ? {}
      : {
          'model.mla.kv_lora': mla.kv_lora,
          'model.mla.qk_nope': mla.qk_nope,
          'model.mla.qk_rope': mla.qk_rope,
          'model.mla.v_head': mla.v_head,
        }),
  };
  return Object.entries(needed).flatMap(([path, value]) => (value == null ? [path] : []));
}

function readWidths(run: Run, assumed: string[]) {
  const { model, parallel } = run;
  const hidden = model.hidden ?? 0;
  const heads = model.heads ?? guessedHeads(hidden, parallel.tp ?? 1);
  if (model.heads == null) assumed.push(`model.heads: ${heads} (heads of about 128)`);
  // where every layer has experts no dense width is used
  if (model.ffn == null && model.moe == null) assumed.push('model.ffn: 4 × hidden');
  if (model.kv_heads == null) assumed.push('model.kv_heads: as many as heads');
  if (model.head_dim == null) assumed.push('model.head_dim: hidden ÷ heads');
  return {
    hiddenSize: hidden,
    ffnHiddenSize: model.ffn ?? (model.moe == null ? 4 * hidden : (model.moe.moe_ffn ?? 4 * hidden)),
    numHeads: heads,
    numKvHeads: model.kv_heads ?? heads,
    headDim: model.head_dim ?? hidden / heads,
  };
}

/** The model that a row describes; what it does not state goes to `assumed`. */
export function readModel(run: Run, stack: Stack, assumed: string[]): Model {
  const { model } = run;
  const gated = model.gated ?? false;
  if (model.gated == null) assumed.push('model.gated: no');
  const widths = readWidths(run, assumed);
  // a plain FFN with untied embeddings is of the later, bias-free kind (Nemotron-4, PaLM)
  const isGpt = !gated && (model.tied_embeddings ?? true);
  if (model.tied_embeddings == null) assumed.push(`model.tied_embeddings: ${isGpt ? 'yes' : 'no'}`);
  const { dropout, biases } = stack;
  if (isGpt)
    assumed.push(
      `GPT style: LayerNorm, ${biases ? 'biases' : 'no biases'}, learned positions, ${dropout ? 'dropout 0.1' : 'no dropout'}`,
    );
  return {
    preset: null,
    name: model.name ?? run.id,
    family: isGpt ? 'gpt' : 'llama',
    numLayers: model.layers ?? 0,
    gatedFfn: gated,
    ...widths,
    vocabSize: model.vocab ?? 0,
    tiedEmbeddings: model.tied_embeddings ?? isGpt,
    positions: isGpt ? 'learned' : 'rotary',
    maxPositions: isGpt ? (model.seq ?? null) : null,
    normalization: isGpt ? 'layernorm' : 'rmsnorm',
    qkvBias: isGpt && biases,
    ffnBias: isGpt && biases,
    dropout: isGpt && dropout,
    moe: readExperts(run),
    mla: readLatent(run),
    mtpLayers: model.mtp_layers ?? 0,
  };
}
