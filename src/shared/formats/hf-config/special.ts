/** What single families add to their layers, beside the kinds that all share. */
import type { LayerKind } from '../../schema/index.ts';
import type { ConfigReader } from './config.ts';
import type { Family } from './families.ts';

type Change = (kind: LayerKind) => LayerKind;

/** Norms of the step and of both state inputs. */
function jamba(kind: LayerKind): LayerKind {
  if (kind.mixer.type !== 'mamba1') return kind;
  return { ...kind, otherParameters: kind.mixer.dtRank + 2 * kind.mixer.stateSize };
}

/** A dense part beside the experts, three more norms, a scale of the router's input and one per expert. */
function gemma4(config: ConfigReader, hiddenSize: number): Change {
  return (kind) => {
    if (kind.ffn.type !== 'moe') return kind;
    const sharedWidth = config.need('width of the dense part', 'intermediate_size');
    return {
      ...kind,
      ffn: { ...kind.ffn, sharedWidth },
      norms: kind.norms + 3,
      otherParameters: hiddenSize + kind.ffn.numExperts,
    };
  };
}

/** Biases of latent attention: both down-projections and the output. */
function latentBiases(hiddenSize: number): Change {
  return (kind) => {
    if (kind.mixer.type !== 'mla') return kind;
    const { qLoraRank, kvLoraRank, qkRopeHeadDim } = kind.mixer;
    return { ...kind, otherParameters: (qLoraRank ?? 0) + kvLoraRank + qkRopeHeadDim + hiddenSize };
  };
}

/**
 * Several residual streams (hyper-connections, DeepSeek-V4): before and after each of both parts, n² + 2n mixing weights are
 * read off the n streams, with a base and three scales.
 */
function residualStreams(hiddenSize: number, n: number): Change {
  const weights = n * n + 2 * n;
  return (kind) => ({ ...kind, otherParameters: 2 * (weights * n * hiddenSize + weights + 3) });
}

/** What joins the streams after the last layer: n weights read off n streams, a base, a scale. */
export function finalParameters(config: ConfigReader, hiddenSize: number): number {
  const n = config.number('hc_mult');
  return n === null || n < 2 ? 0 : n * n * hiddenSize + n + 1;
}

/** What the family of a configuration adds to each layer. */
export function specialOf(config: ConfigReader, family: Family, hiddenSize: number): Change {
  if (config.has('kv_lora_rank') && config.flag(false, 'attention_bias')) return latentBiases(hiddenSize);
  if (family.name === 'Jamba') return jamba;
  // a gate of one column per head
  if (family.name === 'Step 3.7')
    return (kind) =>
      kind.mixer.type === 'attention' ? { ...kind, otherParameters: kind.mixer.numHeads * hiddenSize } : kind;
  const streams = config.number('hc_mult');
  if (streams !== null && streams > 1) return residualStreams(hiddenSize, streams);
  // two learned slopes of its activation
  if (family.name === 'Apertus') return (kind) => ({ ...kind, otherParameters: 2 });
  if (family.name === 'Gemma 4') return gemma4(config, hiddenSize);
  return (kind) => kind;
}
