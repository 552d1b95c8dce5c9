/** A thread that predicts the record once and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { evidenceRows, type RecordInputs } from './rows.ts';

parentPort?.postMessage(evidenceRows(workerData as RecordInputs));
