import { runCommandLine } from './program.ts';
import { processTerminal } from './terminal.ts';

// no process.exit: what was written to a pipe must get through first
process.exitCode = await runCommandLine(processTerminal(), process.argv.slice(2));
