import { runCommandLine } from './program.ts';
import { processTerminal } from './terminal.ts';

// no process.exit: what was written to a pipe must get through first
const exitCode = await runCommandLine(processTerminal(), process.argv.slice(2));
process.exitCode ||= exitCode; // an answer that could not be written has set it already
