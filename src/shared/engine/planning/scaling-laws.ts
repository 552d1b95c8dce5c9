/**
 * Loss as a function of model size N and training tokens D, and what is best for a given compute C = 6·N·D.
 *
 * L(N, D) = E + A/N^α + B/D^β. Best: N* = G·(C/6)^(β/(α+β)), D* = (C/6)^(α/(α+β))/G with G = (αA/(βB))^(1/(α+β)).
 * Source: MODEL §7.1; Hoffmann et al. 2022 (arXiv 2203.15556).
 */

export interface ScalingLaw {
  readonly label: string;
  readonly irreducibleLoss: number;
  readonly parameterFactor: number;
  readonly tokenFactor: number;
  readonly parameterExponent: number;
  readonly tokenExponent: number;
  readonly source: string;
}

/** FLOP per parameter and token, forward and backward. */
const FLOPS_PER_PARAMETER_TOKEN = 6;
/** … of inference. */
const INFERENCE_FLOPS_PER_PARAMETER_TOKEN = 2;

/**
 * Fits of the same experiments. The printed constants of Hoffmann's third approach contradict its other two (93 tokens per
 * parameter at 5.76e23 FLOP, where the paper's own table has 22): take Besiroglu's.
 */
export const scalingLaws = {
  besiroglu: {
    label: 'Besiroglu et al. 2024',
    irreducibleLoss: 1.8172,
    parameterFactor: 482.01,
    tokenFactor: 2085.43,
    parameterExponent: 0.3478,
    tokenExponent: 0.3658,
    source: 'Besiroglu et al. 2024 (arXiv 2404.10102): refit of Hoffmann et al.’s third approach',
  },
  hoffmann: {
    label: 'Hoffmann et al. 2022, approach 3',
    irreducibleLoss: 1.69,
    parameterFactor: 406.4,
    tokenFactor: 410.7,
    parameterExponent: 0.34,
    tokenExponent: 0.28,
    source: 'Hoffmann et al. 2022 (arXiv 2203.15556) §3.3, as printed',
  },
} as const satisfies Record<string, ScalingLaw>;

/** Exponents (a, b) of N* ∝ C^a and D* ∝ C^b by Hoffmann et al.'s three approaches (table 2). */
export const chinchillaExponents = [
  { approach: 1, parameters: 0.5, tokens: 0.5 },
  { approach: 2, parameters: 0.49, tokens: 0.51 },
  { approach: 3, parameters: 0.46, tokens: 0.54 },
] as const;

/** Best tokens and FLOPs by model size. Source: Hoffmann et al. 2022 table 3 (approach 1). */
export const chinchillaTable = [
  { parameters: 400e6, flops: 1.92e19, tokens: 8.0e9 },
  { parameters: 1e9, flops: 1.21e20, tokens: 20.2e9 },
  { parameters: 10e9, flops: 1.23e22, tokens: 205.1e9 },
  { parameters: 67e9, flops: 5.76e23, tokens: 1.5e12 },
  { parameters: 175e9, flops: 3.85e24, tokens: 3.7e12 },
  { parameters: 280e9, flops: 9.9e24, tokens: 5.9e12 },
  { parameters: 520e9, flops: 3.43e25, tokens: 11.0e12 },
  { parameters: 1e12, flops: 1.27e26, tokens: 21.2e12 },
  { parameters: 10e12, flops: 1.3e28, tokens: 216.2e12 },
] as const;

/** Loss in nats per token. */
export function lossOf(law: ScalingLaw, parameters: number, tokens: number): number {
  return (
    law.irreducibleLoss +
    law.parameterFactor / parameters ** law.parameterExponent +
    law.tokenFactor / tokens ** law.tokenExponent
  );
}

export interface BestSize {
  parameters: number;
  tokens: number;
  tokensPerParameter: number;
  loss: number;
}

/** Training FLOPs of a dense model. */
export function trainingFlops(parameters: number, tokens: number): number {
  return FLOPS_PER_PARAMETER_TOKEN * parameters * tokens;
}

/** The model and tokens of least loss for `flops` of training. */
export function bestFor(law: ScalingLaw, flops: number): BestSize {
  const { parameterExponent: alpha, tokenExponent: beta } = law;
  const sum = alpha + beta;
  const balance = ((alpha * law.parameterFactor) / (beta * law.tokenFactor)) ** (1 / sum);
  const product = flops / FLOPS_PER_PARAMETER_TOKEN;
  const parameters = balance * product ** (beta / sum);
  const tokens = product ** (alpha / sum) / balance;
  return { parameters, tokens, tokensPerParameter: tokens / parameters, loss: lossOf(law, parameters, tokens) };
}

/**
 * Best tokens for a model size and their FLOPs by Hoffmann's table, log-linear between its rows and beyond its ends.
 * Source: as {@link chinchillaTable}.
 */
export function chinchillaTokens(parameters: number): { tokens: number; flops: number } {
  const above = chinchillaTable.findIndex((row) => row.parameters >= parameters);
  const upper = Math.min(Math.max(above === -1 ? chinchillaTable.length - 1 : above, 1), chinchillaTable.length - 1);
  const [low, high] = [chinchillaTable[upper - 1], chinchillaTable[upper]];
  if (low === undefined || high === undefined) throw new Error('the table has at least two rows');
  const share = Math.log(parameters / low.parameters) / Math.log(high.parameters / low.parameters);
  const between = (from: number, to: number) => from * (to / from) ** share;
  return { tokens: between(low.tokens, high.tokens), flops: between(low.flops, high.flops) };
}

/** Tokens that bring a model of `parameters` to `loss`; null where no number of tokens does. */
export function tokensFor(law: ScalingLaw, parameters: number, loss: number): number | null {
  const left = loss - law.irreducibleLoss - law.parameterFactor / parameters ** law.parameterExponent;
  return left <= 0 ? null : (law.tokenFactor / left) ** (1 / law.tokenExponent);
}

const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** Where a function of one valley is least, by golden section on [low, high]. */
function leastOn(low: number, high: number, valueAt: (x: number) => number): number {
  let [a, b] = [low, high];
  for (let step = 0; step < 200 && b - a > 1e-12 * Math.abs(b); step++) {
    const [left, right] = [b - GOLDEN * (b - a), a + GOLDEN * (b - a)];
    if (valueAt(left) < valueAt(right)) b = right;
    else a = left;
  }
  return (a + b) / 2;
}

/**
 * The model that reaches the loss of `best` with least FLOPs of training and of `inferenceTokens` together,
 * 6·N·D + 2·N·D_inference: smaller than the best for training alone, and trained for longer.
 * Source: MODEL §7.1; Sardana et al. 2023 (arXiv 2401.00448).
 */
export function bestWithInference(
  law: ScalingLaw,
  best: BestSize,
  inferenceTokens: number,
): BestSize & { flops: number } {
  const flopsAt = (parameters: number) => {
    const tokens = tokensFor(law, parameters, best.loss);
    if (tokens === null) return Infinity;
    const serving = INFERENCE_FLOPS_PER_PARAMETER_TOKEN * parameters * inferenceTokens;
    return trainingFlops(parameters, tokens) + serving;
  };
  // at this size no number of tokens reaches the loss
  const least = (law.parameterFactor / (best.loss - law.irreducibleLoss)) ** (1 / law.parameterExponent);
  const log = leastOn(Math.log(least), Math.log(best.parameters), (x) => flopsAt(Math.exp(x)));
  const parameters = Math.exp(log);
  const tokens = tokensFor(law, parameters, best.loss) ?? Infinity;
  return { parameters, tokens, tokensPerParameter: tokens / parameters, loss: best.loss, flops: flopsAt(parameters) };
}
