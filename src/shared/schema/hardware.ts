/** Accelerators of the catalog (resources/catalog/hardware). Units stand in the keys; each figure names its source. */
import { z } from 'zod';
import { count, nonNegative, positive, shortText, sparse } from './primitives.ts';

/** Where a figure comes from: A = a named source that was read, B = vendor headline to re-check. */
const provenance = z.strictObject({
  source: z.string().min(1),
  date: z.string(),
  confidence: z.enum(['A', 'B']),
  note: z.string().optional(),
});

export const precisions = ['bf16', 'fp16', 'fp8', 'fp32'] as const;
export type Precision = (typeof precisions)[number];

/** Scale-up links (NVLink and its like): `bandwidthGBps` is per accelerator and direction. */
export const scaleUpSchema = z.strictObject({
  domainSize: count,
  kind: z.enum(['switched', 'ring', 'torus', 'pairwise']),
  bandwidthGBps: positive,
});

/** Scale-out network: `bandwidthGbps` is per NIC and direction in gigabits. */
export const scaleOutSchema = z.strictObject({
  nicsPerAccelerator: positive,
  bandwidthGbps: positive,
  latencyUs: nonNegative,
  oversubscription: z.number().min(1),
  inNetworkReduction: z.boolean(),
});

export const acceleratorSchema = z.strictObject({
  format: z.literal('trainyard/accelerator'),
  version: z.literal(1),
  id: z.string().regex(/^[a-z0-9.-]+$/),
  aliases: z.array(z.string()),
  vendor: shortText,
  name: shortText,
  /** Key into resources/calibration/kernels.json; null where no kernels were measured. */
  kernelCurves: z.string().nullable(),
  /** Dense peak per precision; null = the part has no such unit. */
  peakTflops: z.strictObject({
    bf16: positive.nullable(),
    fp16: positive.nullable(),
    fp8: positive.nullable(),
    fp32: positive.nullable(),
  }),
  memoryGiB: positive,
  /** What a process can allocate in all: less than the nominal size. */
  usableMemoryGiB: positive,
  memoryBandwidthGBps: positive,
  numMultiprocessors: count,
  acceleratorsPerNode: count,
  scaleUp: scaleUpSchema,
  scaleOut: scaleOutSchema.pick({ nicsPerAccelerator: true, bandwidthGbps: true }),
  hostLinkGBps: positive,
  powerW: positive,
  /** A price to start from; prices move, so it is dated and meant to be replaced. */
  price: z.strictObject({
    currency: z.string().length(3),
    perAcceleratorHour: nonNegative,
    source: z.string(),
    date: z.string(),
  }),
  sources: z.record(z.string(), provenance),
});
export type Accelerator = z.infer<typeof acceleratorSchema>;

export const priceSchema = z.strictObject({
  currency: z.string().length(3).default('USD'),
  perAcceleratorHour: nonNegative,
  source: z.string().default('user'),
  date: z.string().nullable().default(null),
});

/** A cluster: how many of which accelerator, how they are wired, and what they cost. */
export const clusterSchema = z.strictObject({
  preset: z.string().nullable().default(null),
  name: shortText.optional(),
  accelerator: z.string().min(1),
  numAccelerators: count.max(4_194_304),
  acceleratorsPerNode: count,
  scaleUp: scaleUpSchema,
  scaleOut: scaleOutSchema,
  host: z.strictObject({ memoryGiB: positive, linkGBps: positive }).nullable().default(null),
  storage: z.strictObject({ readGBps: positive, writeGBps: positive }).nullable().default(null),
  price: priceSchema.nullable().default(null),
});
export type Cluster = z.infer<typeof clusterSchema>;

/** A cluster as a scenario file may give it: preset and accelerator fill what is absent, at any depth. */
export const clusterInputSchema = sparse(clusterSchema.omit({ scaleUp: true, scaleOut: true, price: true })).extend({
  scaleUp: scaleUpSchema.partial().optional(),
  scaleOut: scaleOutSchema.partial().optional(),
  price: priceSchema.nullable().optional(),
});
export type ClusterInput = z.input<typeof clusterInputSchema>;

/** A named cluster of resources/catalog/clusters. */
export const clusterPresetSchema = z.strictObject({
  format: z.literal('trainyard/cluster'),
  version: z.literal(1),
  id: z.string(),
  name: shortText,
  description: z.string(),
  source: z.string(),
  cluster: clusterInputSchema,
});
export type ClusterPreset = z.infer<typeof clusterPresetSchema>;
