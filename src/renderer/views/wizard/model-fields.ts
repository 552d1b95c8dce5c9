/** The fields of the wizard's model step. */
import { choices, type FieldGroup } from './field-types.ts';

export const modelGroups: readonly FieldGroup[] = [
  {
    title: 'Size',
    fields: [
      { path: 'model.numLayers', kind: 'count', label: 'Layers' },
      { path: 'model.hiddenSize', kind: 'count', label: 'Hidden size', help: 'Width of the residual stream.' },
      {
        path: 'model.ffnHiddenSize',
        kind: 'count',
        label: 'Feed-forward size',
        help: 'Inner width of the MLP; one branch of it when gated.',
      },
      {
        path: 'model.mtpLayers',
        kind: 'count',
        label: 'Prediction layers',
        help: 'Multi-token prediction: each guesses one further token in training. Most models have none.',
      },
      { path: 'model.vocabSize', kind: 'count', label: 'Vocabulary', unit: 'tokens', help: 'Before padding.' },
    ],
  },
  {
    title: 'Attention',
    fields: [
      { path: 'model.numHeads', kind: 'count', label: 'Query heads' },
      {
        path: 'model.numKvHeads',
        kind: 'count',
        label: 'Key/value heads',
        help: 'Fewer than query heads means grouped-query attention.',
      },
      { path: 'model.headDim', kind: 'count', label: 'Head size' },
      {
        path: 'model.slidingWindow',
        kind: 'count',
        nullable: true,
        label: 'Sliding window',
        unit: 'tokens',
        help: 'How far back a query sees, in every layer; empty: to the start.',
      },
      {
        path: 'model.maxPositions',
        kind: 'count',
        nullable: true,
        label: 'Longest sequence',
        unit: 'tokens',
        help: 'Length of a learned position table; empty where there is none.',
      },
      {
        path: 'model.positions',
        kind: 'choice',
        label: 'Positions',
        choices: choices(
          ['learned', 'Learned table'],
          ['rotary', 'Rotary (RoPE)'],
          ['alibi', 'ALiBi'],
          ['none', 'None'],
        ),
      },
    ],
  },
  {
    title: 'Kind',
    fields: [
      {
        path: 'model.family',
        kind: 'choice',
        label: 'Family',
        choices: choices(['gpt', 'GPT style'], ['llama', 'Llama style']),
      },
      {
        path: 'model.normalization',
        kind: 'choice',
        label: 'Normalization',
        choices: choices(
          ['layernorm', 'LayerNorm'],
          ['layernorm-no-bias', 'LayerNorm without shift'],
          ['layernorm-plain', 'LayerNorm, nothing learned'],
          ['rmsnorm', 'RMSNorm'],
        ),
      },
      { path: 'model.gatedFfn', kind: 'toggle', label: 'Gated feed-forward', help: 'SwiGLU: three matrices, not two.' },
      {
        path: 'model.tiedEmbeddings',
        kind: 'toggle',
        label: 'Tied embeddings',
        help: 'Input embedding and output head share their weights.',
      },
    ],
  },
  {
    title: 'Mixture of experts',
    optional: {
      path: 'model.moe',
      label: 'Experts in place of one feed-forward part',
      help: 'A router sends each token to a few of many experts.',
      initial: {
        numExperts: 8,
        expertsPerToken: 2,
        expertFfnHiddenSize: 4096,
        sharedExpertFfnHiddenSize: 0,
        sharedExpertGate: false,
        denseFirst: 0,
        everyN: 1,
        router: null,
      },
    },
    fields: [
      { path: 'model.moe.numExperts', kind: 'count', label: 'Experts' },
      { path: 'model.moe.expertsPerToken', kind: 'count', label: 'Experts per token' },
      { path: 'model.moe.expertFfnHiddenSize', kind: 'count', label: 'Width of an expert' },
      {
        path: 'model.moe.sharedExpertFfnHiddenSize',
        kind: 'count',
        label: 'Width of the shared experts',
        help: 'Together; 0 where every expert is routed.',
      },
      {
        path: 'model.moe.denseFirst',
        kind: 'count',
        label: 'Dense layers first',
        help: 'Layers before the first experts.',
      },
      { path: 'model.moe.everyN', kind: 'count', label: 'Experts in every n-th layer', help: '1 = in each.' },
      { path: 'model.moe.sharedExpertGate', kind: 'toggle', label: 'Gate on the shared expert' },
    ],
  },
  {
    title: 'Latent attention (MLA)',
    optional: {
      path: 'model.mla',
      label: 'Project queries and keys through narrow latents',
      help: 'As DeepSeek and Kimi do. The key/value heads and the head size above are then not used.',
      initial: { qLoraRank: 1536, kvLoraRank: 512, qkNopeHeadDim: 128, qkRopeHeadDim: 64, vHeadDim: 128 },
    },
    fields: [
      {
        path: 'model.mla.qLoraRank',
        kind: 'count',
        nullable: true,
        label: 'Query latent',
        help: 'Empty where queries are projected directly.',
      },
      { path: 'model.mla.kvLoraRank', kind: 'count', label: 'Key/value latent' },
      { path: 'model.mla.qkNopeHeadDim', kind: 'count', label: 'Head width without positions' },
      { path: 'model.mla.qkRopeHeadDim', kind: 'count', label: 'Head width with rotary positions' },
      { path: 'model.mla.vHeadDim', kind: 'count', label: 'Value head width' },
    ],
  },
  {
    title: 'Fine print',
    isFolded: true,
    fields: [
      { path: 'model.qkvBias', kind: 'toggle', label: 'Bias in attention projections' },
      { path: 'model.ffnBias', kind: 'toggle', label: 'Bias in the feed-forward part' },
      { path: 'model.qkNorm', kind: 'toggle', label: 'Norm on queries and keys' },
      {
        path: 'model.embeddingSize',
        kind: 'count',
        nullable: true,
        label: 'Embedding width',
        help: 'Where it is not the hidden size.',
      },
      { path: 'model.embeddingNorm', kind: 'toggle', label: 'Norm after the embedding' },
      { path: 'model.headBias', kind: 'toggle', label: 'Bias of the output head' },
      { path: 'model.finalNorm', kind: 'toggle', label: 'Norm before the head' },
      { path: 'model.dropout', kind: 'toggle', label: 'Dropout in training', help: 'Its masks are kept in memory.' },
    ],
  },
];
