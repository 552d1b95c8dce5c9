/**
 * Fits the kernel curves: `node tools/fit-kernels/index.ts KERNELS_DIR -o resources/calibration/kernels.json`.
 *
 * KERNELS_DIR holds the measured tables (gemm_*.csv, attention_context_*.csv, nccl_*.csv, SOURCES.csv), which are
 * not part of this repository. `--only a100-sxm,h100-sxm` refits those and keeps the rest of the output file.
 * The output depends on the tables alone: a second run leaves the file as it is, date included.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type {
  AcceleratorCurves,
  CollectiveOp,
  DeviceRates,
  KernelCurves,
} from '../../src/shared/engine/kernels/index.ts';
import { DEVICES, type FitDevice } from './devices.ts';
import { fitCurve } from './fit.ts';
import {
  attentionKind,
  attentionRow,
  collectiveKind,
  collectiveRow,
  matmulKind,
  matmulRow,
  type MatmulDtype,
} from './kinds.ts';
import { printJson } from './print-json.ts';
import { hasTable, readTable } from './tables.ts';

/** Curve name → dtype in the matmul tables, and whose peak it is measured against. */
const MATMUL_DTYPES: Readonly<Record<string, MatmulDtype & { readonly table: string; readonly peak: string }>> = {
  bf16: { table: 'bfloat16', peak: 'bf16', operandBytesPerElement: 2, casts: false },
  fp8: { table: 'fp8', peak: 'fp8', operandBytesPerElement: 1, casts: true },
  fp8Block: { table: 'fp8_block', peak: 'fp8', operandBytesPerElement: 1, casts: true },
  // four bits and one 8-bit scale for 16 elements
  nvfp4: { table: 'nvfp4', peak: 'fp4', operandBytesPerElement: 0.5625, casts: true },
};

function ratesOf(device: FitDevice, dtype: string): DeviceRates {
  const peak = device.peakFlopsPerSecondByDtype[dtype];
  if (peak === undefined) throw new Error(`no ${dtype} peak for ${device.table}`);
  return {
    peakFlopsPerSecond: peak,
    memoryBytesPerSecond: device.memoryBytesPerSecond,
    numMultiprocessors: device.numMultiprocessors,
  };
}

function fitMatmul(folder: string, device: FitDevice): AcceleratorCurves['matmul'] {
  const table = readTable(folder, `gemm_${device.table}.csv`);
  const curves = Object.entries(MATMUL_DTYPES).flatMap(([name, dtype]) => {
    const rows = table.filter((row) => row['dtype'] === dtype.table).map(matmulRow);
    if (rows.length === 0) return [];
    return [[name, fitCurve(matmulKind(ratesOf(device, dtype.peak), dtype), rows)] as const];
  });
  return Object.fromEntries(curves);
}

function fitAttention(folder: string, device: FitDevice): AcceleratorCurves['attention'] {
  const rows = readTable(folder, `attention_context_${device.table}.csv`)
    .filter((row) => row['dtype'] === 'bfloat16' && row['kv_dtype'] === 'bfloat16')
    .map(attentionRow);
  const numHeadDims = new Set(rows.map((row) => row.headDim)).size;
  return { bf16: fitCurve(attentionKind(ratesOf(device, 'bf16'), numHeadDims), rows) };
}

function fitCollective(folder: string, device: FitDevice): AcceleratorCurves['collective'] {
  const rows = readTable(folder, `nccl_${device.table}.csv`).map(collectiveRow);
  const fitOp = (op: CollectiveOp): AcceleratorCurves['collective'][CollectiveOp] => {
    const rowsOfOp = rows.filter((row) => row.op === op);
    const rankCounts = [...new Set(rowsOfOp.map((row) => row.numRanks))].sort((a, b) => a - b);
    return fitCurve(collectiveKind(op, rankCounts), rowsOfOp);
  };
  const [allReduce, allGather, reduceScatter, allToAll] = [
    fitOp('allReduce'),
    fitOp('allGather'),
    fitOp('reduceScatter'),
    fitOp('allToAll'),
  ];
  return { allReduce, allGather, reduceScatter, allToAll };
}

function fitAccelerator(folder: string, device: FitDevice): AcceleratorCurves {
  return {
    device: { ...ratesOf(device, 'bf16'), peakFlopsPerSecondByDtype: device.peakFlopsPerSecondByDtype },
    matmul: fitMatmul(folder, device),
    attention: fitAttention(folder, device),
    collective: fitCollective(folder, device),
  };
}

/** Files of the source project that the tables were thinned from, by accelerator id. */
function sourceTables(folder: string, ids: readonly string[]): Record<string, string[]> {
  const rows = readTable(folder, 'SOURCES.csv');
  const kinds = ['gemm', 'context_attention', 'nccl'];
  const file = 'file in ai-dynamo/aiconfigurator aic-core systems/data';
  return Object.fromEntries(
    ids.map((id) => [
      id,
      rows
        .filter((row) => row['accelerator'] === DEVICES[id]?.table && kinds.includes(row['table'] ?? ''))
        .map((row) => row[file] ?? ''),
    ]),
  );
}

function previousFile(path: string): KernelCurves | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as KernelCurves) : undefined;
}

function printSummary(id: string, curves: AcceleratorCurves): void {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const kinds = { ...curves.matmul, attention: curves.attention['bf16'], ...curves.collective };
  for (const [name, curve] of Object.entries(kinds)) {
    if (curve === undefined) continue;
    const { fit } = curve;
    const of = (part: { medianApe: number; p95Ape: number }): string =>
      `${percent(part.medianApe)} / ${percent(part.p95Ape)}`;
    console.log(
      `${id} ${name}: fit ${of(fit)}, held out ${of(fit.heldOut)}, all rows ${of(fit.allRows)} (median / 95th percentile)`,
    );
  }
}

function main(): void {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { output: { type: 'string', short: 'o' }, only: { type: 'string' } },
  });
  const [folder] = positionals;
  const { output, only } = values;
  if (folder === undefined || output === undefined) {
    throw new Error('usage: node tools/fit-kernels/index.ts KERNELS_DIR -o OUTPUT.json [--only ID,ID]');
  }
  const previous = previousFile(output);
  const wanted = only?.split(',') ?? Object.keys(DEVICES);
  const accelerators: Record<string, AcceleratorCurves> = {};
  for (const [id, device] of Object.entries(DEVICES)) {
    const kept = previous?.accelerators[id];
    if (!wanted.includes(id)) {
      if (kept !== undefined) accelerators[id] = kept;
      continue;
    }
    if (!hasTable(folder, `gemm_${device.table}.csv`)) throw new Error(`no tables of ${id} in ${folder}`);
    accelerators[id] = fitAccelerator(folder, device);
    printSummary(id, accelerators[id]);
  }
  const content = {
    format: 'trainyard/kernel-curves' as const,
    version: 1 as const,
    source: {
      name: 'ai-dynamo/aiconfigurator, aic-core systems/data (thinned)',
      licence: 'Apache-2.0',
      tables: sourceTables(folder, Object.keys(accelerators)),
    },
    accelerators,
  };
  const isUnchanged = previous !== undefined && JSON.stringify(previous.accelerators) === JSON.stringify(accelerators);
  const fittedAt = isUnchanged ? previous.fittedAt : new Date().toISOString().slice(0, 10);
  const { format, version, source } = content;
  const file: KernelCurves = { format, version, fittedAt, source, accelerators };
  writeFileSync(output, `${printJson(file)}\n`);
}

main();
