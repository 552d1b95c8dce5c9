/**
 * Accelerator, links, host and storage of a scenario in SI units.
 *
 * A part without measured kernels borrows the curves of a similar one. A curve is a share of the device's own rates, so
 * borrowing keeps the shape and follows the part's peak, bandwidth and links; where the part's best matmul was measured,
 * the curve is stretched to reach just that. Source: docs/MODEL.md, section 8.
 */
import { GB, GIB, TERA } from '../units.ts';
import type { Accelerator, Scenario } from '../schema/index.ts';
import type { Calibration } from './calibration/index.ts';
import { matmulSeconds } from './kernels/index.ts';

type Peaks = Accelerator['peakTflops'];
export type PeakPrecision = keyof Peaks;

/** One accelerator. Rates are dense peaks and per direction. */
export interface Device {
  id: string;
  name: string;
  /** Dense peak of the job's precision, FLOP/s. */
  peakFlopsPerSecond: number;
  /** Dense peaks of all precisions, FLOP/s; null = no such unit. */
  peaks: Readonly<Record<PeakPrecision, number | null>>;
  memoryBytes: number;
  usableMemoryBytes: number;
  memoryBytesPerSecond: number;
  numMultiprocessors: number;
  /** null where it is not published. */
  powerWatts: number | null;
  /** Bandwidth of the links that its collective curves were measured over, per direction. */
  ratedScaleUpBytesPerSecond: number;
  /** Key into the kernel curves; the curves of the nearest measured part where it has none of its own. */
  kernelCurves: string;
  /** The same for collectives: a part without a switch borrows those of one whose switch does not reduce. */
  collectiveCurves: string;
  /** Its collectives were measured over PCIe, in a node without other links. */
  isMeasuredOverPcie: boolean;
  /** Time of a matmul over that of the curve: above 1 where the part's best matmul stays behind a borrowed curve. */
  matmulSlowdown: number;
}

/** A level of the scale-out network; see `tierSchema`. */
export interface NetworkTier {
  name: string;
  accelerators: number;
  oversubscription: number;
  latencySeconds: number | null;
}

/** The links of a cluster, per accelerator and direction. */
export interface Network {
  numAccelerators: number;
  acceleratorsPerNode: number;
  /** Accelerators that reach each other over scale-up links, as the job is placed: whole domains, evenly filled. */
  scaleUpDomainSize: number;
  scaleUpKind: Scenario['cluster']['scaleUp']['kind'];
  scaleUpBytesPerSecond: number;
  /** Of one of the links: a pair's, or one of a torus; all together where every peer is reached at the full rate. */
  scaleUpLinkBytesPerSecond: number;
  /** Between accelerators of a node that no scale-up link joins (PCIe), through the host's bridges. */
  nodeBytesPerSecond: number;
  /** All NICs of one accelerator together, after oversubscription of the whole network. */
  scaleOutBytesPerSecond: number;
  scaleOutLatencySeconds: number;
  /** Smallest blocks first. */
  tiers: readonly NetworkTier[];
  inNetworkReduction: boolean;
}

/** What a node's host and the cluster's storage give; null = unknown. */
export interface Host {
  /** Of one node. */
  memoryBytes: number | null;
  /** Between one accelerator and its host, per direction. */
  linkBytesPerSecond: number;
  readBytesPerSecond: number | null;
  writeBytesPerSecond: number | null;
}

/** Curves for a part that names none to borrow. */
const FALLBACK_CURVES = 'a100-sxm';
/** Collectives over PCIe were measured on the L40S alone. */
const PCIE_CURVES = 'l40s';

/**
 * Bandwidth per direction of the links that each part's collectives were measured over, GB/s: the catalog's own figures
 * of those parts (vendor datasheets; NVLink 3, 4 and 5, PCIe 4.0 x16 for the L40S).
 */
const MEASURED_LINKS: Readonly<Record<string, number>> = {
  'a100-sxm': 300,
  'h100-sxm': 450,
  'h200-sxm': 450,
  'b200-sxm': 900,
  'b300-sxm': 900,
  gb200: 900,
  gb300: 900,
  [PCIE_CURVES]: 31,
};

/** Square sizes at which a curve is asked for its best share of the peak. */
const LARGE_SIZES = [4096, 8192, 12_288, 16_384];

/** Whose matmul and attention curves a part takes. */
function curvesOf({ kernelCurves, similarTo }: Accelerator, { kernels }: Calibration): string {
  for (const key of [kernelCurves, similarTo]) if (key !== null && key in kernels.accelerators) return key;
  return FALLBACK_CURVES;
}

/** Whose collective curves: its own, a similar switch's, PCIe's where there are no links, else a plain ring's. */
function collectiveCurvesOf(accelerator: Accelerator, cluster: Scenario['cluster'], calibration: Calibration): string {
  const key = curvesOf(accelerator, calibration);
  if (key === accelerator.kernelCurves) return key;
  if (cluster.scaleUp.domainSize === 1) return PCIE_CURVES;
  return cluster.scaleUp.kind === 'switched' && cluster.scaleUp.domainSize > 2 ? key : FALLBACK_CURVES;
}

/** The best share of the bf16 peak that a curve reaches on large squares with these rates. */
function bestShare(key: string, device: Omit<Device, 'matmulSlowdown'>, calibration: Calibration): number | null {
  const curve = calibration.kernels.accelerators[key]?.matmul['bf16'];
  if (curve === undefined) return null;
  const { peakFlopsPerSecond } = device;
  return Math.max(
    ...LARGE_SIZES.map((n) => (2 * n ** 3) / matmulSeconds(curve, device, { m: n, n, k: n }) / peakFlopsPerSecond),
  );
}

/** How much slower than a borrowed curve the part's best measured matmul is; 1 where none was measured. */
function matmulSlowdownOf(
  accelerator: Accelerator,
  device: Omit<Device, 'matmulSlowdown'>,
  calibration: Calibration,
): number {
  const { bestMatmulTflops, peakTflops, kernelCurves } = accelerator;
  if (bestMatmulTflops === null || peakTflops.bf16 === null || device.kernelCurves === kernelCurves) return 1;
  const share = bestShare(device.kernelCurves, device, calibration);
  return share === null ? 1 : share / (bestMatmulTflops / peakTflops.bf16);
}

/** The accelerator with the scenario's own figures in place of the catalog's. */
export function withOverrides(accelerator: Accelerator, { acceleratorOverrides }: Scenario['cluster']): Accelerator {
  if (acceleratorOverrides === null) return accelerator;
  const { peakTflops = {}, ...figures } = acceleratorOverrides;
  const given = (values: object) => Object.fromEntries(Object.entries(values).filter(([, v]) => v !== undefined));
  return { ...accelerator, ...given(figures), peakTflops: { ...accelerator.peakTflops, ...given(peakTflops) } };
}

/** The part in SI units. Throws only on a bug: a precision that it lacks was let through. */
export function toDevice(
  accelerator: Accelerator,
  cluster: Scenario['cluster'],
  compute: PeakPrecision,
  calibration: Calibration,
): Device {
  const peakTflops = accelerator.peakTflops[compute];
  if (peakTflops === null) throw new Error(`precision ${compute} reached the engine for ${accelerator.id}`);
  const kernelCurves = curvesOf(accelerator, calibration);
  const collectiveCurves = collectiveCurvesOf(accelerator, cluster, calibration);
  const lender = calibration.kernels.accelerators[kernelCurves];
  const rated = MEASURED_LINKS[collectiveCurves];
  if (rated === undefined) throw new Error(`the links that ${collectiveCurves} was measured over are unknown`);
  const inSi = ([precision, tflops]: [string, number | null]) => [precision, tflops === null ? null : tflops * TERA];
  const device = {
    id: accelerator.id,
    name: accelerator.name,
    peakFlopsPerSecond: peakTflops * TERA,
    peaks: Object.fromEntries(Object.entries(accelerator.peakTflops).map(inSi)) as Device['peaks'],
    memoryBytes: accelerator.memoryGiB * GIB,
    usableMemoryBytes: accelerator.usableMemoryGiB * GIB,
    memoryBytesPerSecond: accelerator.memoryBandwidthGBps * GB,
    numMultiprocessors: accelerator.numMultiprocessors ?? lender?.device.numMultiprocessors ?? 1,
    powerWatts: accelerator.powerW,
    ratedScaleUpBytesPerSecond: rated * GB,
    kernelCurves,
    collectiveCurves,
    isMeasuredOverPcie: collectiveCurves === PCIE_CURVES,
  };
  return { ...device, matmulSlowdown: matmulSlowdownOf(accelerator, device, calibration) };
}

/** What was taken for lack of a measurement or a published figure, in words. */
export function assumedOf(accelerator: Accelerator, device: Device): string[] {
  const { name } = accelerator;
  const assumed: string[] = [];
  if (accelerator.announced) assumed.push(`${name}: announced, its figures are the vendor’s preview`);
  if (device.kernelCurves !== accelerator.kernelCurves) {
    const best = accelerator.bestMatmulTflops;
    const stretched = best === null ? '' : `, stretched so that the best matmul reaches the ${best} TFLOP/s measured`;
    assumed.push(
      `kernel efficiency of ${name}: no kernels were measured on it, those of ${device.kernelCurves} are taken relative to its own peak and bandwidth${stretched}`,
    );
    assumed.push(`collectives of ${name}: those of ${device.collectiveCurves}, scaled to its own links`);
  }
  if (accelerator.numMultiprocessors === null)
    assumed.push(`multiprocessors of ${name}: not published, ${device.numMultiprocessors} as ${device.kernelCurves}`);
  return assumed;
}

/**
 * Accelerators of one domain that the job uses: whole domains are filled evenly, so a job that no number of full domains
 * makes up takes an equal part of each (256 accelerators of racks of 72 are four times 64), in whole nodes.
 */
export function placedDomainSize(numAccelerators: number, domainSize: number, acceleratorsPerNode: number): number {
  if (numAccelerators <= domainSize) return numAccelerators;
  const unit = domainSize % acceleratorsPerNode === 0 ? acceleratorsPerNode : 1;
  for (let size = domainSize - (domainSize % unit); size >= domainSize / 2; size -= unit)
    if (numAccelerators % size === 0) return size;
  return domainSize;
}

/** Bytes/s of one link: given, or what follows from the kind. */
function linkBytesPerSecond({ kind, bandwidthGBps, linkGBps, domainSize }: Scenario['cluster']['scaleUp']): number {
  if (linkGBps !== null) return Math.min(linkGBps, bandwidthGBps) * GB;
  if (kind === 'pairwise') return (bandwidthGBps / Math.max(1, domainSize - 1)) * GB;
  // a torus of unknown links is taken as three-dimensional: two links each way along every axis
  return (kind === 'torus' ? bandwidthGBps / 6 : bandwidthGBps) * GB;
}

export function toNetwork(cluster: Scenario['cluster'], accelerator: Accelerator): Network {
  const { numAccelerators, acceleratorsPerNode, scaleUp, scaleOut } = cluster;
  const nicBytesPerSecond = (scaleOut.bandwidthGbps * scaleOut.nicsPerAccelerator * 1e9) / 8;
  return {
    numAccelerators,
    acceleratorsPerNode,
    scaleUpDomainSize: placedDomainSize(numAccelerators, scaleUp.domainSize, acceleratorsPerNode),
    scaleUpKind: scaleUp.kind,
    scaleUpBytesPerSecond: scaleUp.bandwidthGBps * GB,
    scaleUpLinkBytesPerSecond: linkBytesPerSecond(scaleUp),
    nodeBytesPerSecond: accelerator.hostLinkGBps * GB,
    scaleOutBytesPerSecond: nicBytesPerSecond / scaleOut.oversubscription,
    scaleOutLatencySeconds: scaleOut.latencyUs * 1e-6,
    tiers: scaleOut.tiers
      .map(({ latencyUs, ...tier }) => ({ ...tier, latencySeconds: latencyUs === null ? null : latencyUs * 1e-6 }))
      .sort((a, b) => a.accelerators - b.accelerators),
    inNetworkReduction: scaleOut.inNetworkReduction,
  };
}

/** Host and storage: what the scenario says, else the accelerator's usual node. */
export function toHost({ host, storage }: Scenario['cluster'], accelerator: Accelerator): Host {
  const memoryGiB = host?.memoryGiB ?? accelerator.hostMemoryGiB;
  return {
    memoryBytes: memoryGiB === null ? null : memoryGiB * GIB,
    linkBytesPerSecond: (host?.linkGBps ?? accelerator.hostLinkGBps) * GB,
    readBytesPerSecond: storage === null ? null : storage.readGBps * GB,
    writeBytesPerSecond: storage === null ? null : storage.writeGBps * GB,
  };
}
