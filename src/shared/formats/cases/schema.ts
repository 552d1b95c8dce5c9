/**
 * Files of configurations with a known outcome, as their records spell them ("planner-cases/1", "planner-golden/1"):
 * loose, because records carry fields of their own; strict in what is read from them.
 */
import { z } from 'zod';
import { AppError, inputError } from '../../errors.ts';
import { issuesOf } from '../../schema/index.ts';

const number = z.number().nullish();
const text = z.string().nullish();
/** Kinds of outcome; a record may have others, which are reported but not judged. */
export const caseKinds = [
  'fits',
  'oom',
  'oom_risk',
  'host_oom',
  'rejected',
  'silent_wrong',
  'hang',
  'slow',
  'advice',
  'arithmetic',
  'estimate_mismatch',
] as const;
export type CaseKind = (typeof caseKinds)[number];

const parallel = z.looseObject({
  tp: number,
  pp: number,
  vpp: number,
  cp: number,
  ep: number,
  etp: number,
  dp: number,
  sp: z.boolean().nullish(),
  zero: z.union([z.number(), z.string(), z.boolean()]).nullish(),
  /** Ranks that share one copy of the weights; `true` = all of them. */
  fsdp: z.union([z.number(), z.boolean()]).nullish(),
  zero_group: z.union([z.number(), z.string()]).nullish(),
  schedule: text,
});

const batch = z.looseObject({ mbs: number, gbs: number, seq: number, grad_accum: number, microbatches: number });

export const caseRowSchema = z.looseObject({
  id: z.string().min(1),
  source: text,
  framework: text,
  mode: text,
  purpose: text,
  model: text,
  hardware: text,
  gpus: number,
  parallel: parallel.default({}),
  batch: batch.default({}),
  precision: text,
  recompute: text,
  offload: text,
  outcome: z.looseObject({ kind: z.string(), reason: text }),
  confidence: text,
  model_overrides: z.record(z.string(), z.unknown()).nullish(),
  check: text,
  note: text,
});
export type CaseRow = z.infer<typeof caseRowSchema>;

export const hardwareSchema = z.looseObject({
  gpu: text,
  mem_gb: number,
  gpus_per_node: number,
  nvlink_domain: number,
});
export type CaseHardware = z.infer<typeof hardwareSchema>;

/** A model of the file: the name of a Hugging Face configuration, sizes of its own, or only a number of parameters. */
export const caseModelSchema = z.looseObject({
  kind: text,
  hf_config: text,
  nominal_params: number,
  num_hidden_layers: number,
  hidden_size: number,
  intermediate_size: number,
  num_attention_heads: number,
  num_key_value_heads: number,
  vocab_size: number,
  seq_len: number,
  positions: text,
  biases: z.boolean().nullish(),
  tied_embedding: z.boolean().nullish(),
  params_at_seq2048: number,
});
export type CaseModel = z.infer<typeof caseModelSchema>;

/** One run of Megatron-Core's functional tests: its flags, and what the allocator of the last rank held at most. */
export const goldenRowSchema = z.looseObject({
  id: z.string().min(1),
  framework: text,
  hardware: text,
  gpus: number,
  parallel: z.looseObject({ dp: number }).default({}),
  args: z.record(z.string(), z.unknown()),
  outcome: z.looseObject({ kind: z.string(), max_allocated_bytes: number, allocated_bytes: number }),
});
export type GoldenRow = z.infer<typeof goldenRowSchema>;

export interface CasesFile {
  hardware: Record<string, CaseHardware>;
  models: Record<string, CaseModel>;
  rows: CaseRow[];
  golden: GoldenRow[];
  /** Numbers of accelerators that the file infers for runs by a part of their name. */
  inferred: { idContains: string; numAccelerators: number }[];
}

const MOST_ISSUES = 20;

const fileSchema = z.looseObject({
  hardware: z.record(z.string(), hardwareSchema).default({}),
  models: z.record(z.string(), caseModelSchema).default({}),
  cases: z.array(z.unknown()),
  solved_examples: z.array(z.looseObject({ id_contains: z.string(), inferred: z.string() })).default([]),
});

const isGolden = (row: unknown): boolean => typeof row === 'object' && row !== null && 'args' in row;

/** The rows of a cases file. Throws AppError invalid-json / wrong-format / invalid-field with the place. */
export function parseCasesText(content: string, what = 'cases file'): CasesFile {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (cause) {
    throw new AppError('invalid-json', `${what} is not valid JSON: ${(cause as Error).message}`, {
      remedy: 'The file may be half-written or damaged.',
      cause,
    });
  }
  const head = fileSchema.safeParse(value);
  if (!head.success)
    throw new AppError('wrong-format', `${what} is no file of cases (an object with "cases")`, {
      remedy: 'Give a JSON object with "cases": a list of configurations with their outcome.',
    });
  const { hardware, models, cases, solved_examples: solved } = head.data;
  const issues = cases.flatMap((row, index) => {
    const parsed = (isGolden(row) ? goldenRowSchema : caseRowSchema).safeParse(row);
    return parsed.success ? [] : issuesOf(parsed.error, row, `cases[${index}]`);
  });
  if (issues.length > 0) throw inputError('invalid-field', what, issues.slice(0, MOST_ISSUES));
  return {
    hardware,
    models,
    rows: cases.filter((row) => !isGolden(row)).map((row) => caseRowSchema.parse(row)),
    golden: cases.filter(isGolden).map((row) => goldenRowSchema.parse(row)),
    inferred: solved.flatMap(({ id_contains: idContains, inferred }) => {
      const count = /(\d+) GPUs/.exec(inferred)?.[1];
      return count === undefined ? [] : [{ idContains, numAccelerators: Number(count) }];
    }),
  };
}
