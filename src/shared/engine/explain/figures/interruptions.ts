/** Failures, restarts and checkpoints of the whole run. Source: docs/MODEL.md §7.3–7.4. */
import { CHECKPOINT_BYTES_PER_PARAMETER } from '../../planning/checkpoints.ts';
import { RESTART_SECONDS } from '../../planning/whole-run.ts';
import { accelerators, failures, ofRun, run, runOf } from './run-context.ts';
import { trainedParameters } from '../../workload/trained.ts';
import { figure, input, type FigureContext, type FigureKinds } from './types.ts';

const trainedOf = ({ problem }: FigureContext) => trainedParameters(problem.model, problem.workload.adapters);

export const interruptions: FigureKinds = {
  goodput: ofRun(
    {
      label: 'Goodput',
      unit: 'fraction',
      about: 'Share of the time that is work: the rest goes into checkpoints, lost work and restarts.',
      formula: '1 ÷ ((M ÷ T) · e^(R ÷ M) · (e^((T + C) ÷ M) − 1))',
      source: 'docs/MODEL.md §7.4; Daly 2006 eq. 20',
    },
    (_, one) => ({
      value: one.goodput,
      inputs: [
        { ...failures(one), label: 'M, mean time between failures' },
        input('T, work between checkpoints', one.intervalSeconds, 's', 'checkpointInterval'),
        input('C, wait per checkpoint', one.checkpointSeconds, 's', 'checkpointSeconds'),
        input('R, restart', one.restartSeconds, 's', 'restartSeconds'),
      ],
    }),
  ),
  failures: ofRun(
    {
      label: 'Expected failures',
      unit: '',
      formula: 'days with failures · 86400 ÷ mean time between failures',
      source: 'docs/MODEL.md §7.3',
    },
    (_, one) => ({
      value: one.failures,
      inputs: [input('days with failures', one.days, 'days', 'daysWithFailures'), failures(one)],
    }),
  ),
  meanTimeBetweenFailures: run((context) => {
    const one = runOf(context);
    return figure({
      label: 'Mean time between failures of the job',
      value: one.failureSeconds,
      unit: 's',
      about: 'Failures of parts are independent, so their rates add. Older or newer parts may fail more often.',
      formula: 'mean time between failures of an accelerator ÷ accelerators',
      inputs: [
        input('mean time between failures of an accelerator', one.acceleratorFailureSeconds, 's'),
        accelerators(context),
      ],
      source: 'Llama 3 (arXiv 2407.21783) §3.3.4: 419 unexpected interruptions in 54 days on 16,384 H100',
    });
  }),
  checkpointBytes: run((context) =>
    figure({
      label: 'Size of a checkpoint',
      value: runOf(context).checkpointBytes,
      unit: 'B',
      about: '16-bit weights, fp32 master weights and Adam’s two moments.',
      formula: 'trained parameters · bytes of a parameter',
      inputs: [
        input('trained parameters', trainedOf(context), '', 'trainedParameters'),
        input('bytes of a parameter', CHECKPOINT_BYTES_PER_PARAMETER, 'B'),
      ],
      source: 'docs/MODEL.md §7.4',
    }),
  ),
  checkpointSeconds: run((context) => {
    const one = runOf(context);
    return figure({
      label: 'Wait per checkpoint',
      value: one.checkpointSeconds,
      unit: 's',
      about:
        'Asynchronous: training waits for the copy of each rank’s part to its host; the writing goes on behind it.',
      formula: 'size of a checkpoint ÷ (accelerators · host link)',
      inputs: [
        input('size of a checkpoint', one.checkpointBytes, 'B', 'checkpointBytes'),
        accelerators(context),
        input('host link', context.problem.host.linkBytesPerSecond, 'B/s'),
      ],
      source: 'docs/MODEL.md §7.4',
    });
  }),
  checkpointInterval: run((context) => {
    const one = runOf(context);
    const isWriting = one.writeSeconds !== null && one.writeSeconds > one.bestIntervalSeconds;
    return figure({
      label: 'Time between checkpoints',
      value: one.intervalSeconds,
      unit: 's',
      about: isWriting
        ? 'As long as writing a checkpoint takes: the best interval would be shorter.'
        : one.writeSeconds === null
          ? 'Where lost work and waiting for checkpoints cost least. The storage’s rate is not known: it must write as fast.'
          : 'Where lost work and waiting for checkpoints cost least.',
      formula: isWriting ? 'size of a checkpoint ÷ write rate' : 'M · (1 + W(−e^(−1 − C ÷ M))), W Lambert’s function',
      inputs: isWriting
        ? [
            input('size of a checkpoint', one.checkpointBytes, 'B', 'checkpointBytes'),
            input('write rate', context.problem.host.writeBytesPerSecond ?? 0, 'B/s'),
          ]
        : [
            { ...failures(one), label: 'M, mean time between failures' },
            input('C, wait per checkpoint', one.checkpointSeconds, 's', 'checkpointSeconds'),
            input('the storage must write', one.checkpointBytes / one.intervalSeconds, 'B/s'),
          ],
      source: 'docs/MODEL.md §7.4; Daly 2006',
    });
  }),
  restartSeconds: run((context) => {
    const one = runOf(context);
    return figure({
      label: 'Time of a restart',
      value: one.restartSeconds,
      unit: 's',
      about:
        one.readSeconds === null
          ? 'The storage’s rate is not known: reading the checkpoint is not counted.'
          : 'From the failure until the job computes again.',
      formula: 'finding and starting anew + reading the checkpoint',
      inputs: [
        input('finding and starting anew', RESTART_SECONDS, 's'),
        input('reading the checkpoint', one.readSeconds ?? 0, 's'),
      ],
      source: 'MegaScale (arXiv 2402.15627): found and diagnosed within ten minutes',
    });
  }),
};
