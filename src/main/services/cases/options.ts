/**
 * Launch options that exclude one another. A record keeps them in words only ("both --a and --b are given"), because its
 * fields hold one value each: what the words say was given is read here, the verdict is the rule's.
 * Source: Megatron-LM megatron/training/arguments.py.
 */
import type { CaseRow } from '#shared/formats/cases/index.ts';

interface OptionRule {
  rule: string;
  /** Options of which at most one may be given. */
  options: readonly RegExp[];
  message: string;
}

const optionRules: readonly OptionRule[] = [
  {
    rule: 'one-batch-schedule',
    options: [/--global-batch-size\b/, /--step-batch-size-schedule\b/, /--rampup-batch-size\b/],
    message:
      'the global batch is given in more than one way: keep one of --global-batch-size, --step-batch-size-schedule, --rampup-batch-size',
  },
  {
    rule: 'one-low-precision',
    options: [/\bfp8\b/i, /\bfp4\b/i],
    message: 'fp8 and fp4 are given together: choose one precision for the matrix multiplications',
  },
  {
    rule: 'one-interleaving',
    options: [
      /--num-layers-per-virtual-pipeline-stage\b/,
      /--num-virtual-stages-per-pipeline-rank\b/,
      /--pipeline-model-parallel-layout\b/,
    ],
    message: 'virtual stages are given in more than one way: keep layers per stage, stages per rank or a layout',
  },
  {
    rule: 'one-layer-split',
    options: [/--decoder-(first|last)-pipeline-num-layers\b/, /--account-for-(embedding|loss)-in-pipeline-split\b/],
    message: 'layers of the first and last stage are given by count and by accounting: keep one of the two',
  },
];

/** Option rules that the words of a validity row break, as messages. */
export function brokenOptions(row: CaseRow): { rule: string; message: string }[] {
  if (row.purpose !== 'validity') return [];
  const words = [row.outcome.reason ?? '', row.note ?? '', row.precision ?? ''].join(' ');
  return optionRules.flatMap(({ rule, options, message }) =>
    options.filter((option) => option.test(words)).length > 1 ? [{ rule, message }] : [],
  );
}
