/** Models found by architecture search (Nemotron-Super): each block names its own attention and feed-forward part, or none. */
import type { Ffn, LayerKind, Mixer } from '../../schema/index.ts';
import type { ConfigReader } from './config.ts';
import type { Family } from './families.ts';
import { attentionOf } from './mixers.ts';

interface Block {
  attention?: { n_heads_in_group?: number | null; no_op?: boolean; replace_with_linear?: boolean };
  ffn?: { ffn_mult?: number | null; no_op?: boolean; replace_with_linear?: boolean };
}

/** Width of the feed-forward part from its multiplier: 2·mult·h/3, rounded up to a multiple of 256. */
function widthOf(multiplier: number, hiddenSize: number): number {
  return Math.ceil(Math.trunc((2 * multiplier * hiddenSize) / 3) / 256) * 256;
}

/** The layers of `block_configs`; a block's missing part has no norm either. */
export function nasLayers(
  config: ConfigReader,
  family: Family,
  hiddenSize: number,
  blocks: readonly unknown[],
): LayerKind[] {
  const numHeads = config.need('number of attention heads', 'num_attention_heads');
  const base = attentionOf(config, family, hiddenSize);
  let linear = 0;
  const layers = (blocks as readonly Block[]).map(({ attention = {}, ffn = {} }): LayerKind => {
    let otherParameters = 0;
    let mixer: Mixer = { ...base, numKvHeads: numHeads / (attention.n_heads_in_group ?? 1) };
    if (attention.no_op === true) mixer = { type: 'none' };
    if (attention.replace_with_linear === true) {
      mixer = { type: 'none' };
      otherParameters += hiddenSize * hiddenSize;
      linear++;
    }
    let part: Ffn = { type: 'dense', width: widthOf(ffn.ffn_mult ?? 1, hiddenSize), gated: true, bias: family.ffnBias };
    if (ffn.no_op === true) part = { type: 'none' };
    if (ffn.replace_with_linear === true) {
      part = { type: 'none' };
      otherParameters += hiddenSize * hiddenSize;
      linear++;
    }
    const norms = (attention.no_op === true ? 0 : 1) + (ffn.no_op === true ? 0 : 1);
    return { mixer, ffn: part, norms, parallel: false, otherParameters };
  });
  if (linear > 0)
    config.warnings.push(`${linear} blocks are single linear maps: their parameters are counted, their time is not`);
  return layers;
}
