import { lineOf, numberAfter, type LogFormat } from './line.ts';

/** The progress bar (tqdm) and the closing summary of Hugging Face's Trainer. Source: transformers trainer_utils.py. */
export const hfTrainer: LogFormat = {
  framework: 'Hugging Face Trainer',
  looksLike: "{'train_runtime': 812.4, 'train_steps_per_second': 0.12, …}, or a bar with 2.51s/it",
  caution:
    'The bar smooths its rate over steps, and the closing summary counts start-up in; both are rougher than a step time.',
  read: (line) => {
    const steps = numberAfter(line, String.raw`'?train_steps_per_second'?\s*[:=]\s*'?`);
    if (steps !== undefined)
      return lineOf({
        stepSeconds: 1 / steps,
        samplesPerSecond: numberAfter(line, String.raw`'?train_samples_per_second'?\s*[:=]\s*'?`),
      });
    const bar = /(\d+)\/\d+ \[[\d:]+<[^,\]]*,\s*([\d.]+)(s\/it|it\/s)/.exec(line);
    const rate = Number(bar?.[2]);
    if (bar === null || !(rate > 0)) return null;
    return { iteration: Number(bar[1]), stepSeconds: bar[3] === 's/it' ? rate : 1 / rate };
  },
};
