/** A thread that searches slices of the plan space; all that it decides is when to report. */
import { parentPort } from 'node:worker_threads';
import { searchSlice } from '#shared/engine/index.ts';
import type { FromWorker, ProblemMessage, ToWorker } from './protocol.ts';

const REPORT_EVERY_MILLISECONDS = 100;

let current: ProblemMessage | undefined;
const reply = (message: FromWorker) => parentPort?.postMessage(message);

function search({ request }: Extract<ToWorker, { type: 'slice' }>): FromWorker {
  if (current === undefined) return { type: 'failed', message: 'a slice came before its problem' };
  const { problem, stop } = current;
  let reported = performance.now();
  const result = searchSlice(problem, request, (covered, best) => {
    const now = performance.now();
    if (now - reported >= REPORT_EVERY_MILLISECONDS) {
      reported = now;
      reply({ type: 'progress', covered, best });
    }
    return Atomics.load(stop, 0) === 0;
  });
  return { type: 'done', result };
}

parentPort?.on('message', (message: ToWorker) => {
  if (message.type === 'problem') {
    current = message;
    return;
  }
  try {
    reply(search(message));
  } catch (error) {
    reply({ type: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
