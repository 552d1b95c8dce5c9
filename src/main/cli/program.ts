/** The command line: its commands, and how faults are told. */
import { Command, CommanderError, Option } from 'commander';
import { AppError, wireErrorOf, type WireError } from '#shared/errors.ts';
import { appVersion } from '../app-paths.ts';
import { calibrate, type CalibrateOptions } from './calibrate.ts';
import { cases, type CasesOptions } from './cases.ts';
import { catalog } from './catalog.ts';
import { gather, wholeNumber } from './common.ts';
import { evaluate, type EvaluateOptions } from './evaluate.ts';
import { evidence, type EvidenceOptions } from './evidence.ts';
import { explain, type ExplainOptions } from './explain.ts';
import { plan, type PlanOptions } from './plan.ts';
import { printJson, type Terminal } from './terminal.ts';
import { exportFile, importFile, type ExportOptions, type ImportOptions } from './transfer.ts';
import { validate, type ValidateOptions } from './validate.ts';

const BAD_INPUT = 2;
/** EX_SOFTWARE of sysexits.h: the program is at fault, not its user. */
const BUG = 70;

const scenarioHelp = `
SCENARIO is a file, or preset:MODEL@COUNTxACCELERATOR, e.g. preset:gpt-1t@3072xa100-80gb-sxm
("trainyard catalog" lists the names). Exit code: 0 yes, 1 no, 2 bad input.`;

function addPlanning(program: Command, run: (command: () => Promise<number>) => Promise<void>, terminal: Terminal) {
  program
    .command('plan')
    .description('search the fastest plans that fit')
    .argument('<scenario>', 'scenario file or preset:…')
    .option('--top <n>', 'how many best plans to list', wholeNumber(1, 1000), 10)
    .option('--objective <name>', 'what is best: throughput, time, cost, energy, memory-headroom, robust')
    .option('--pin <path=value,…>', 'allow only these values of a plan field (repeatable)', gather)
    .option('--exclude <path=value,…>', 'rule these values of a plan field out (repeatable)', gather)
    .option('--workers <n>', 'worker threads (one per core)', wholeNumber(1, 1024))
    .option('--stats', 'print what was ruled out and why')
    .option('--json', 'print one JSON document')
    .addHelpText('after', scenarioHelp)
    .action((source: string, options: PlanOptions) => run(() => plan(terminal, source, options)));
  program
    .command('evaluate')
    .description('estimate one plan, or say why it is none')
    .argument('<scenario>', 'scenario file or preset:…')
    .option('--plan <plan>', "tp=8,pp=64,… or a JSON file; the scenario's own plan where left out")
    .option('--json', 'print one JSON document')
    .addHelpText('after', scenarioHelp)
    .action((source: string, options: EvaluateOptions) => run(() => evaluate(terminal, source, options)));
}

function addMeasured(program: Command, run: (command: () => Promise<number>) => Promise<void>, terminal: Terminal) {
  program
    .command('explain')
    .description('open a number of a plan: its formula, what went in, the source, its parts')
    .argument('<scenario>', 'scenario file or preset:…')
    .argument('[number]', 'mfu, stepSeconds/pipeline, memoryByStage.1, …; all numbers are listed where left out')
    .option('--plan <plan>', "tp=8,pp=64,… or a JSON file; the scenario's own plan where left out")
    .option('--depth <n>', 'levels of parts to open', wholeNumber(0, 20), 1)
    .option('--json', 'print one JSON document')
    .addHelpText('after', scenarioHelp)
    .action((source: string, number: string | undefined, options: ExplainOptions) =>
      run(() => explain(terminal, source, number, options)),
    );
  program
    .command('validate')
    .description('compare predictions with measured runs')
    .argument('<runs>', 'JSON file of measured runs')
    .option('--calibration <file>', 'calibration to use in place of the shipped one')
    .option('--json', 'print one JSON document')
    .action((file: string, options: ValidateOptions) => run(() => validate(terminal, file, options)));
  program
    .command('calibrate')
    .description('fit the constants to measured runs, and say how far they are off on runs left out')
    .argument('<runs...>', 'JSON files of measured runs')
    .option('-o, --output <file>', 'write the calibration there')
    .option('--force', 'replace the file of -o')
    .addOption(
      new Option('--folds <division>', 'list the error of each fold of a division').choices([
        'grouped',
        'source',
        'accelerator',
        'framework',
        'few',
      ]),
    )
    .option('--few <n>', 'rows of a new source that are given', wholeNumber(1, 20))
    .option('--json', 'print one JSON document')
    .action((files: string[], options: CalibrateOptions) => run(() => calibrate(terminal, files, options)));
  program
    .command('cases')
    .description('judge configurations with a known outcome: fits, out of memory, refused, …')
    .argument('<cases>', 'JSON file of cases')
    .option('--wrong', 'list only those that are judged otherwise than they turned out')
    .option('--json', 'print one JSON document')
    .action((file: string, options: CasesOptions) => run(() => cases(terminal, file, options)));
}

function addRecord(program: Command, run: (command: () => Promise<number>) => Promise<void>, terminal: Terminal) {
  program
    .command('evidence')
    .description('list the recorded measured runs beside what is predicted for them')
    .option('--missing', 'list those that cannot be predicted, and what each lacks')
    .option('--json', 'print one JSON document')
    .action((options: EvidenceOptions) => run(() => evidence(terminal, options)));
}

function addFiles(program: Command, run: (command: () => Promise<number>) => Promise<void>, terminal: Terminal) {
  program
    .command('import')
    .description('read a scenario file, or the config.json of a model: what it says, was filled in, is missing')
    .argument('<file...>', 'scenario file, or the config.json of a Hugging Face model')
    .option('-o, --output <file>', 'write the complete scenario there')
    .option('--force', 'replace the file of -o')
    .option('--json', 'print one JSON document')
    .action((files: string[], options: ImportOptions) => run(() => importFile(terminal, files, options)));
  program
    .command('export')
    .description('write a scenario out, every field filled in')
    .argument('<scenario>', 'scenario file or preset:…')
    .addOption(new Option('--as <format>', 'file format').choices(['trainyard', 'json']).default('trainyard'))
    .option('-o, --output <file>', 'file to write; standard output where left out')
    .option('--force', 'replace the file of -o')
    .option('--json', 'with -o, print what was written as one JSON document')
    .action((source: string, options: ExportOptions) => run(() => exportFile(terminal, source, options)));
  program
    .command('catalog')
    .description('list the models, accelerators, clusters and examples')
    .option('--json', 'print one JSON document')
    .action((options: { json?: boolean }) => run(() => catalog(terminal, options)));
}

function addBrowser(program: Command, run: (command: () => Promise<number>) => Promise<void>) {
  program
    .command('browser')
    .description('open Trainyard for a browser on this machine')
    .option('--port <n>', 'port on 127.0.0.1; left out, the usual one or any that is free', wholeNumber(0, 65_535))
    .option('--data-dir <dir>', 'folder of the library (or TRAINYARD_DATA_DIR)')
    .action((options: { port?: number; dataDir?: string }) =>
      run(async () => {
        // the other commands need neither database nor server
        const { serve } = await import('../server/serve.ts');
        return serve(options);
      }),
    );
}

/** Says on standard error what is wrong where and what to do; in JSON mode also as the one document. */
function tell(terminal: Terminal, error: WireError, wantsJson: boolean): void {
  const issues = error.issues ?? [];
  if (issues.length > 1) {
    const where = error.subject === undefined ? '' : ` in ${error.subject}`;
    terminal.err(`trainyard: ${issues.length} faults${where}:\n`);
    for (const { path, message, remedy } of issues)
      terminal.err(`  ${path === '' ? '(whole input)' : path}: ${message}. ${remedy}\n`);
  } else {
    terminal.err(`trainyard: ${error.message}\n`);
    if (error.remedy !== undefined) terminal.err(`  ${error.remedy}\n`);
  }
  if (wantsJson) printJson(terminal, { error });
}

function usageError({ message }: CommanderError): AppError {
  const [, path = 'command line'] = /'((?:-[a-zA-Z], )?--[a-z-]+|[^']*)/.exec(message) ?? [];
  return new AppError('bad-usage', message.replace(/^error: /, ''), {
    path,
    remedy: 'See trainyard --help, or trainyard COMMAND --help.',
  });
}

/** Runs one command line (without the program's own name) and returns its exit code. Never throws. */
export async function runCommandLine(terminal: Terminal, args: readonly string[]): Promise<number> {
  let exitCode = 0;
  const run = async (command: () => Promise<number>) => {
    exitCode = await command();
  };
  const program = new Command('trainyard')
    .description('Plan LLM training clusters: the fastest split that fits, and why.')
    .version(appVersion())
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: () => undefined })
    .configureHelp({ helpWidth: terminal.columns });
  addPlanning(program, run, terminal);
  addMeasured(program, run, terminal);
  addRecord(program, run, terminal);
  addFiles(program, run, terminal);
  addBrowser(program, run);
  try {
    if (args.length === 0) program.help();
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0; // help and version
    const known = error instanceof CommanderError ? usageError(error) : error;
    tell(terminal, wireErrorOf(known), args.includes('--json'));
    if (known instanceof AppError) return BAD_INPUT;
    terminal.err(`${known instanceof Error ? (known.stack ?? '') : ''}\n`);
    return BUG;
  }
}
