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

export const precisions = ['bf16', 'fp16', 'fp8', 'fp4', 'fp32'] as const;
export type Precision = (typeof precisions)[number];

/**
 * Scale-up links (NVLink and its like): `bandwidthGBps` is per accelerator and direction, all its links together.
 * `linkGBps`: of one link per direction, where not all of `bandwidthGBps` reaches any one peer: a pair of `pairwise`
 * parts, one of the links of a `torus` (bandwidthGBps ÷ linkGBps of them). null = follows from the kind.
 */
export const scaleUpSchema = z.strictObject({
  domainSize: count,
  kind: z.enum(['switched', 'ring', 'torus', 'pairwise']),
  bandwidthGBps: positive,
  linkGBps: positive.nullable().default(null),
});

/**
 * A level of the scale-out network: blocks of so many accelerators, and how far the links that leave a block are
 * oversubscribed (7 means 1:7) and slower to cross (`latencyUs` of a message that leaves it; null = as inside).
 */
export const tierSchema = z.strictObject({
  name: shortText,
  accelerators: count,
  oversubscription: z.number().min(1),
  latencyUs: nonNegative.nullable().default(null),
});
export type Tier = z.infer<typeof tierSchema>;

/** Scale-out network: `bandwidthGbps` is per NIC and direction in gigabits; 0 NICs = nothing leaves the node. */
export const scaleOutSchema = z.strictObject({
  nicsPerAccelerator: nonNegative,
  bandwidthGbps: nonNegative,
  latencyUs: nonNegative,
  /** Of the whole network; `tiers` say it level by level. */
  oversubscription: z.number().min(1),
  inNetworkReduction: z.boolean(),
  tiers: z.array(tierSchema).max(8).default([]),
});

const peak = positive.nullable();
/** Dense peak per precision in TFLOP/s (int8: TOP/s); null = the part has no such unit, or it is not published. */
const peakTflopsSchema = z.strictObject({
  bf16: peak,
  fp16: peak,
  fp8: peak,
  fp32: peak,
  fp4: peak.default(null),
  tf32: peak.default(null),
  int8: peak.default(null),
});

/** Figures of the part itself: what a scenario may override under `cluster.acceleratorOverrides`. */
const partSchema = z.strictObject({
  name: shortText,
  /** Key into resources/calibration/kernels.json; null where no kernels were measured. */
  kernelCurves: z.string().nullable(),
  /** Whose curves a part without its own borrows; null = the oldest measured part's. */
  similarTo: z.string().nullable().default(null),
  peakTflops: peakTflopsSchema,
  /** The fastest bf16 matmul of any shape that somebody measured, TFLOP/s: scales borrowed curves. */
  bestMatmulTflops: positive.nullable().default(null),
  memoryGiB: positive,
  /** What a process can allocate in all: less than the nominal size. */
  usableMemoryGiB: positive,
  memoryBandwidthGBps: positive,
  /** null = not published; the count of the part whose curves are borrowed is taken. */
  numMultiprocessors: count.nullable(),
  /** To the host, per accelerator and direction. */
  hostLinkGBps: positive,
  hostLinkKind: z.enum(['pcie', 'c2c']).default('pcie'),
  /** Of the usual node in all; null = unknown. */
  hostMemoryGiB: positive.nullable().default(null),
  powerW: positive.nullable(),
});

export const acceleratorSchema = z.strictObject({
  format: z.literal('trainyard/accelerator'),
  version: z.literal(1),
  id: z.string().regex(/^[a-z0-9.-]+$/),
  aliases: z.array(z.string()),
  vendor: shortText,
  /** Announced, not for sale: its figures are the vendor's preview. */
  announced: z.boolean().default(false),
  ...partSchema.shape,
  acceleratorsPerNode: count,
  scaleUp: scaleUpSchema,
  scaleOut: scaleOutSchema.pick({ nicsPerAccelerator: true, bandwidthGbps: true }),
  /** A price to start from; prices move, so it is dated and meant to be replaced. null = no quote was found. */
  price: z
    .strictObject({
      currency: z.string().length(3),
      perAcceleratorHour: nonNegative,
      source: z.string(),
      date: z.string(),
    })
    .nullable(),
  /** By field; a dotted path where one figure has a source of its own. */
  sources: z.record(z.string(), provenance),
});
export type Accelerator = z.infer<typeof acceleratorSchema>;

/** Hardware of one's own: any figure of the accelerator replaced. Links, node and price are the cluster's own fields. */
export const acceleratorOverridesSchema = sparse(partSchema).extend({
  peakTflops: sparse(peakTflopsSchema).optional(),
});
export type AcceleratorOverrides = z.infer<typeof acceleratorOverridesSchema>;

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
  acceleratorOverrides: acceleratorOverridesSchema.nullable().default(null),
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
  scaleUp: sparse(scaleUpSchema).optional(),
  scaleOut: sparse(scaleOutSchema).optional(),
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
