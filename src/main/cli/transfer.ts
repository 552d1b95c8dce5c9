import { AppError } from '#shared/errors.ts';
import { formatCount } from '#shared/units.ts';
import { readTextFile, writeTextFile } from '../services/files.ts';
import { isModelFile, reportModelFile, scenarioOfModelFile, type ModelReport } from '../services/model-files.ts';
import type { Planner } from '../services/planner.ts';
import { reportImport, type ImportReport } from '../services/provenance.ts';
import { openScenario } from '../services/sources.ts';
import { importScenario, scenarioFileText } from '../services/transfer.ts';
import { withPlanner, type ExitCode } from './common.ts';
import { bold, printJson, printWarnings, type Terminal } from './terminal.ts';
import { formatTable } from './text/table.ts';

export interface ImportOptions {
  output?: string;
  force?: boolean;
  json?: boolean;
}

export interface ExportOptions extends ImportOptions {
  as: string;
}

function printReport(terminal: Terminal, file: string, report: ImportReport): void {
  const { model, cluster, job, parameters } = report;
  const count = (origin: RegExp) => Object.values(report.provenance).filter((text) => origin.test(text)).length;
  const batch = `${job.globalBatchSize} sequences of ${job.seqLen} tokens per step, ${job.precision.compute}`;
  const rows = [
    ['model', `${model.name}, ${formatCount(parameters.total)} parameters, ${model.numLayers} layers`],
    ['cluster', `${cluster.numAccelerators.toLocaleString('en-US')} × ${cluster.accelerator}`],
    ['job', job.tokens === null ? batch : `${batch}, ${formatCount(job.tokens)} tokens`],
    ['plan', report.plan === null ? 'none' : JSON.stringify(report.plan)],
    ['fields', `${count(/^file/)} from the file, ${count(/^preset/)} from presets, ${count(/^default/)} by default`],
    ...report.assumed.map((text) => ['assumed', text]),
    ...report.missing.map((path) => ['missing', path]),
  ];
  terminal.out(`${bold(terminal, report.name)} (scenario, ${file})\n`);
  const cell = (index: number) => (row: string[]) => row[index] ?? '';
  const columns = [
    { title: 'part', cell: cell(0), align: 'left' as const },
    { title: 'as read', cell: cell(1), align: 'left' as const, flex: true },
  ];
  terminal.out(formatTable(rows, columns, terminal.columns));
}

function printModel(terminal: Terminal, file: string, report: ModelReport): void {
  const { model, parameters } = report;
  const kinds = model.layerPattern === null ? plainWords(model) : patternWords(model.layerPattern);
  const rows = [
    ['parameters', `${formatCount(parameters.total)} (${parameters.total.toLocaleString('en-US')})`],
    ...(parameters.activePerToken === parameters.total
      ? []
      : [
          [
            'per token',
            `${formatCount(parameters.activePerToken)} pass one token (by tensor names ${formatCount(parameters.active)})`,
          ],
        ]),
    ['layers', `${model.numLayers}, ${kinds}`],
    [
      'sizes',
      `hidden ${model.hiddenSize}, ${model.numHeads} heads, ${model.numKvHeads} key/value heads of ${model.headDim}, vocabulary ${model.vocabSize}`,
    ],
    ...report.assumed.map((text) => ['assumed', text]),
  ];
  terminal.out(`${bold(terminal, report.name)} (Hugging Face configuration, ${file})\n`);
  const cell = (index: number) => (row: string[]) => row[index] ?? '';
  const columns = [
    { title: 'part', cell: cell(0), align: 'left' as const },
    { title: 'as read', cell: cell(1), align: 'left' as const, flex: true },
  ];
  terminal.out(formatTable(rows, columns, terminal.columns));
}

function plainWords({ moe, numLayers }: ModelReport['model']): string {
  if (moe === null) return 'all alike';
  const experts = Math.floor((numLayers - moe.denseFirst) / moe.everyN);
  return `${experts} with ${moe.numExperts} experts, ${numLayers - experts} dense`;
}

function patternWords(pattern: NonNullable<ModelReport['model']['layerPattern']>): string {
  if (typeof pattern === 'string') return pattern;
  const totals = new Map<string, number>();
  for (const { kind, count } of pattern) totals.set(kind, (totals.get(kind) ?? 0) + count);
  return [...totals].map(([kind, count]) => `${count} ${kind}`).join(', ');
}

function importModel(
  terminal: Terminal,
  planner: Planner,
  { file, text }: { file: string; text: string },
  options: ImportOptions,
): ExitCode {
  const report = reportModelFile(text, file);
  printWarnings(terminal, report.warnings);
  if (options.output !== undefined) {
    const { scenario, assumed } = scenarioOfModelFile(planner, text, file);
    writeTextFile(options.output, scenarioFileText(scenario, true), { force: options.force === true });
    printWarnings(terminal, assumed);
    terminal.err(`Wrote ${options.output}.\n`);
  }
  if (options.json) printJson(terminal, report);
  else printModel(terminal, file, report);
  return 0;
}

/** `trainyard import FILE`: what a file says, what was filled in, what is missing; with -o as a complete scenario. */
export function importFile(terminal: Terminal, files: readonly string[], options: ImportOptions): Promise<ExitCode> {
  const [file = '', second] = files;
  if (second !== undefined)
    throw new AppError('unsupported', `one scenario file at a time, found ${files.length} files`, {
      path: second,
      remedy: 'Import each file by a command of its own.',
    });
  return withPlanner({}, (planner) => {
    const text = readTextFile(file);
    if (isModelFile(text)) return importModel(terminal, planner, { file, text }, options);
    const { scenario, warnings } = importScenario(planner, text, file);
    const report = reportImport(planner, scenario, JSON.parse(text), warnings);
    if (options.output !== undefined) {
      writeTextFile(options.output, scenarioFileText(scenario, true), { force: options.force === true });
      terminal.err(`Wrote ${options.output}.\n`);
    }
    printWarnings(terminal, warnings);
    if (options.json) printJson(terminal, report);
    else printReport(terminal, file, report);
    return 0;
  });
}

/** `trainyard export SCENARIO --as FORMAT`: a complete scenario file, or what it consists of as plain JSON. */
export function exportFile(terminal: Terminal, source: string, options: ExportOptions): Promise<ExitCode> {
  return withPlanner({}, (planner) => {
    const { scenario, warnings } = openScenario(planner, source);
    const report = () => reportImport(planner, scenario, scenario, warnings);
    const text = options.as === 'json' ? `${JSON.stringify(report(), null, 2)}\n` : scenarioFileText(scenario, true);
    if (options.output !== undefined) {
      writeTextFile(options.output, text, { force: options.force === true });
      terminal.err(`Wrote ${options.output}.\n`);
    }
    printWarnings(terminal, warnings);
    if (options.json && options.output !== undefined) printJson(terminal, report());
    else if (options.output === undefined) terminal.out(text);
    return 0;
  });
}
