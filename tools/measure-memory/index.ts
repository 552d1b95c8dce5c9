/**
 * Predicted against measured memory, row by row and by source.
 *
 *   node tools/measure-memory/index.ts FILE.json [FILE.json …] [--only TEXT] [--terms]
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { stageMemoryItems } from '../../src/shared/engine/memory/index.ts';
import { GIB } from '../../src/shared/units.ts';
import type { Run } from '../../src/shared/schema/index.ts';
import { readMemoryRun } from './runs.ts';
import type { GoldenRow } from '../../src/shared/formats/cases/index.ts';
import { readGolden, type Measured } from './golden.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' }, terms: { type: 'boolean' }, sort: { type: 'boolean' } },
});

interface Result {
  row: Measured;
  predicted: number;
  error: number;
  resident: number;
}

const counted: Record<Measured['kind'], readonly (string | undefined)[]> = {
  allocated: [undefined],
  reserved: [undefined, 'reserved'],
  total: [undefined, 'reserved', 'device'],
};

function predict(row: Measured): Result {
  const stages = row.stage === null ? Array.from({ length: row.plan.pp }, (_, i) => i) : [row.stage];
  const totals = stages.map((stage) => {
    const items = stageMemoryItems(row.problem, row.plan, stage);
    const kept = items.filter(({ seenBy }) => counted[row.kind].includes(seenBy));
    if (values.terms)
      for (const { category, label, bytes } of kept)
        console.log(`      ${(bytes / 2 ** 20).toFixed(1).padStart(9)} MiB  ${category}: ${label}`);
    return {
      total: kept.reduce((sum, { bytes }) => sum + bytes, 0),
      resident: kept
        .filter(
          ({ category, label }) =>
            (category !== 'activations' && category !== 'workspace') || /[Ww]orkspaces|stand-ins/.test(label),
        )
        .reduce((s, { bytes }) => s + bytes, 0),
    };
  });
  const most = totals.reduce((a, b) => (b.total > a.total ? b : a));
  return { row, predicted: most.total, error: most.total / row.measuredBytes - 1, resident: most.resident };
}

const gib = (bytes: number) => (bytes / GIB).toFixed(2).padStart(7);
const median = (list: number[]) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN;

const isGolden = (row: GoldenRow | Run): row is GoldenRow => 'args' in row;

const results: Result[] = [];
const skipped = new Map<string, number>();
for (const file of positionals) {
  const content = JSON.parse(readFileSync(file, 'utf8')) as { cases: GoldenRow[] } | Run[];
  const rows = Array.isArray(content) ? content : content.cases;
  for (const row of rows) {
    if (values.only !== undefined && !row.id.includes(values.only)) continue;
    const measured = isGolden(row) ? readGolden(row) : readMemoryRun(row);
    if (typeof measured === 'string') {
      skipped.set(measured, (skipped.get(measured) ?? 0) + 1);
      continue;
    }
    const result = predict(measured);
    results.push(result);
  }
}
if (values.sort) results.sort((a, b) => a.error - b.error);
for (const { row, predicted, error, resident } of results) {
  const { plan } = row;
  console.log(
    `${(100 * error).toFixed(1).padStart(7)} %  ${gib(row.measuredBytes)} ${gib(predicted)}  resid ${gib(row.residentBytes ?? 0)} ${gib(resident)} diff ${((row.measuredBytes - (row.residentBytes ?? 0) - (predicted - resident)) / 2 ** 20).toFixed(0).padStart(6)} MiB  ${row.id} t${plan.tp}p${plan.pp}c${plan.cp}e${plan.ep}d${plan.dp}v${plan.vpp} ${plan.runtime.attentionKernel}`,
  );
}
const groups = Map.groupBy(results, ({ row }) => row.group);
for (const [group, list] of [...groups, ['all', results] as const]) {
  const errors = list.map(({ error }) => Math.abs(error));
  console.log(
    `${group}: ${list.length} rows, median |error| ${(100 * median(errors)).toFixed(1)} %, bias ${(100 * median(list.map(({ error }) => error))).toFixed(1)} %, within 6 %: ${errors.filter((e) => e <= 0.06).length}`,
  );
}
console.log(skipped);
