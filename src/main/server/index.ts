import { parseArgs } from 'node:util';
import { AppError } from '#shared/errors.ts';
import { serve } from './serve.ts';

const usage = 'usage: serve [--port N] [--data-dir DIR]';

function parse() {
  const { values } = parseArgs({ options: { port: { type: 'string' }, 'data-dir': { type: 'string' } } });
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && (!/^\d+$/.test(values.port ?? '') || port > 65_535))
    throw new TypeError(`--port must be a whole number from 0 to 65535, not '${values.port ?? ''}'`);
  return {
    ...(port === undefined ? {} : { port }),
    ...(values['data-dir'] === undefined ? {} : { dataDir: values['data-dir'] }),
  };
}

let options: ReturnType<typeof parse>;
try {
  options = parse();
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  process.exit(2);
}
try {
  process.exit(await serve(options));
} catch (error) {
  if (!(error instanceof AppError)) throw error;
  console.error([error.message, error.remedy].filter((line) => line !== undefined).join('\n'));
  process.exit(2);
}
