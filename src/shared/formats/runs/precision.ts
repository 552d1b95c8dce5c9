/** The precision of a row: what its matmuls compute in, and how its gradients are summed. */
import type { Run, ScenarioInput } from '../../schema/index.ts';
import type { Stack } from './stack.ts';

type Precision = NonNullable<ScenarioInput['job']['precision']>;

/** First match wins: an fp8 or fp4 run says what the rest is in, too. */
const computes: readonly { name: RegExp; compute: NonNullable<Precision['compute']> }[] = [
  { name: /fp4/i, compute: 'fp4' },
  { name: /fp8/i, compute: 'fp8' },
  { name: /fp16|float16|\bhalf\b/i, compute: 'fp16' },
  { name: /bf16|bfloat16/i, compute: 'bf16' },
];

/** Composer's mixed precision PURE reduces in bf16, its DEFAULT in fp32 (FSDPConfig); other stacks as they do by default. */
function gradientsOf({ notes }: Run, { gradients }: Stack, assumed: string[]): 'fp32' | 'bf16' {
  const named = /\bMP mode (PURE|DEFAULT)\b/.exec(notes ?? '')?.[1];
  if (named !== undefined) return named === 'PURE' ? 'bf16' : 'fp32';
  if (gradients === 'bf16') assumed.push('gradients summed and reduced in bf16, as the framework does');
  return gradients;
}

/** Precision of a row; what it does not state goes to `assumed`. */
export function readPrecision(run: Run, stack: Stack, assumed: string[]): Precision | { skipped: string } {
  const text = run.parallel.precision;
  if (text == null) assumed.push('parallel.precision: bf16');
  const found = computes.find(({ name }) => name.test(text ?? 'bf16'));
  if (found === undefined) return { skipped: `precision ${text} is not planned by this version` };
  const { compute } = found;
  if (compute !== 'fp16') return { compute, weights: 'bf16', gradients: gradientsOf(run, stack, assumed) };
  if (!stack.isOld) return { compute, weights: 'fp16', gradients: 'fp32' };
  assumed.push('gradients accumulated and reduced in fp16, as the stack of the time did');
  return { compute, weights: 'fp16', gradients: 'fp16' };
}
