/** From a scenario as people write it to one with every field present. Presets fill only what is absent. */
import type { z } from 'zod';
import { nearWords } from '../closest.ts';
import { AppError, inputError, type Issue } from '../errors.ts';
import { patternFault, patternLength } from '../layer-stack.ts';
import type { Presets } from './catalog.ts';
import { clusterSchema, type Accelerator, type Cluster, type ClusterInput } from './hardware.ts';
import { jobSchema, stackFamilies } from './job.ts';
import { modelSchema, type Model } from './model.ts';
import { issuesOf } from './primitives.ts';
import type { Scenario, ScenarioInput } from './scenario.ts';

/** An id or alias as people type it: case, spaces, dots between digits and dashes do not matter. */
export function normalizeId(id: string): string {
  return id.toLowerCase().replace(/[\s_-]+/g, '-');
}

function lookUp<T extends { id: string; aliases?: readonly string[] }>(list: readonly T[], id: string): T | undefined {
  const wanted = normalizeId(id);
  return list.find((item) => [item.id, ...(item.aliases ?? [])].some((name) => normalizeId(name) === wanted));
}

/** What else there is than a name of the catalog. */
const byHand: Readonly<Record<string, string>> = {
  accelerator: 'Or take the one most like yours, and give its own figures under cluster.acceleratorOverrides.',
  cluster: 'Or leave the preset out and give the accelerator and its network.',
  model: 'Or leave the preset out and give every field of the model.',
};

function unknown(
  what: string,
  id: string,
  path: string,
  known: readonly { id: string; aliases?: readonly string[] }[],
): AppError {
  return new AppError('unknown-preset', `${path}: there is no ${what} "${id}"`, {
    path,
    remedy: `${nearWords(normalizeId(id), known, `all ${known.length} ${what}s`)} ${byHand[what] ?? ''}`,
  });
}

/** The accelerator of that id or alias. Throws AppError unknown-preset. */
export function findAccelerator(presets: Presets, id: string, path = 'cluster.accelerator'): Accelerator {
  const found = lookUp(presets.accelerators, id);
  if (found === undefined) throw unknown('accelerator', id, path, presets.accelerators);
  return found;
}

/** Drops absent fields so that spreading does not overwrite a preset with `undefined`. */
function present<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as Partial<T>;
}

function parsePart<T>(schema: z.ZodType<T>, value: unknown, root: string, issues: Issue[]): T | null {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  issues.push(...issuesOf(parsed.error, value, root));
  return null;
}

/** What an accelerator implies for the cluster round it, before any field of the scenario. */
export function clusterDefaults(accelerator: Accelerator): Omit<Cluster, 'numAccelerators'> {
  return {
    preset: null,
    accelerator: accelerator.id,
    acceleratorOverrides: null,
    acceleratorsPerNode: accelerator.acceleratorsPerNode,
    scaleUp: accelerator.scaleUp,
    // latency and topology are the network's, not the accelerator's: a full-bisection fabric with 5 µs is the default
    scaleOut: { ...accelerator.scaleOut, latencyUs: 5, oversubscription: 1, inNetworkReduction: false, tiers: [] },
    host: null,
    storage: null,
    price: accelerator.price,
  };
}

function resolveModel(input: ScenarioInput['model'], presets: Presets, issues: Issue[]): Model | null {
  let base: Partial<Model> = {};
  if (typeof input.preset === 'string') {
    const preset = lookUp(presets.models, input.preset);
    if (preset === undefined) throw unknown('model', input.preset, 'model.preset', presets.models);
    base = { ...preset.model, preset: preset.id };
  }
  const merged = { ...base, ...present(input), preset: base.preset ?? null };
  if (merged.headDim === undefined && merged.hiddenSize !== undefined && merged.numHeads !== undefined)
    merged.headDim = merged.hiddenSize / merged.numHeads;
  if (merged.numLayers === undefined && typeof merged.layerPattern === 'string')
    merged.numLayers = patternLength(merged.layerPattern);
  if (merged.numKvHeads === undefined && merged.numHeads !== undefined) merged.numKvHeads = merged.numHeads;
  return parsePart(modelSchema, merged, 'model', issues);
}

/** A scale-up domain that is the node grows and shrinks with it, where only the node's size is given. */
function domainOf(accelerator: Accelerator, acceleratorsPerNode: number | undefined): Partial<Cluster['scaleUp']> {
  const isNode = accelerator.scaleUp.domainSize === accelerator.acceleratorsPerNode;
  return isNode && acceleratorsPerNode !== undefined ? { domainSize: acceleratorsPerNode } : {};
}

function withoutHardware(cluster: ClusterInput): ClusterInput {
  const own = new Set(['accelerator', 'acceleratorOverrides', 'acceleratorsPerNode', 'scaleUp', 'scaleOut', 'price']);
  return Object.fromEntries(Object.entries(cluster).filter(([field]) => !own.has(field)));
}

function resolveCluster(input: ScenarioInput['cluster'], presets: Presets, issues: Issue[]): Cluster | null {
  let preset: Presets['clusters'][number] | undefined;
  if (typeof input.preset === 'string') {
    preset = lookUp(presets.clusters, input.preset);
    if (preset === undefined) throw unknown('cluster', input.preset, 'cluster.preset', presets.clusters);
  }
  const whole = preset?.cluster ?? {};
  const acceleratorId = input.accelerator ?? whole.accelerator;
  if (acceleratorId === undefined) {
    issues.push({ path: 'cluster.accelerator', message: 'is missing', remedy: 'Name an accelerator of the catalog.' });
    return null;
  }
  const accelerator = findAccelerator(presets, acceleratorId);
  const defaults = clusterDefaults(accelerator);
  const isOwn =
    whole.accelerator === undefined ||
    findAccelerator(presets, whole.accelerator, 'cluster.preset').id === accelerator.id;
  // links, node and price of a preset are those of its accelerator; another one brings its own
  const given = isOwn ? whole : withoutHardware(whole);
  const merged = {
    ...defaults,
    ...present(given),
    ...present(input),
    preset: preset?.id ?? null,
    accelerator: accelerator.id,
    scaleUp: {
      ...defaults.scaleUp,
      ...domainOf(accelerator, input.acceleratorsPerNode ?? given.acceleratorsPerNode),
      ...present(given.scaleUp ?? {}),
      ...present(input.scaleUp ?? {}),
    },
    scaleOut: { ...defaults.scaleOut, ...present(given.scaleOut ?? {}), ...present(input.scaleOut ?? {}) },
  };
  return parsePart(clusterSchema, merged, 'cluster', issues);
}

function resolveJob(input: ScenarioInput['job'], issues: Issue[]): Scenario['job'] | null {
  const compute = input.precision?.compute ?? 'bf16';
  const half = compute === 'fp16' ? 'fp16' : compute === 'fp32' ? 'fp32' : 'bf16';
  const { stack } = input.framework ?? {};
  const family = input.framework?.family ?? (stack == null ? undefined : stackFamilies[stack]);
  if (stack != null && family !== stackFamilies[stack])
    issues.push({
      path: 'job.framework.stack',
      message: `${stack} follows the rules of ${stackFamilies[stack]}, not of ${family}`,
      remedy: `Set job.framework.family to ${stackFamilies[stack]}, or leave the stack out.`,
    });
  if (input.lora != null && input.task !== 'lora')
    issues.push({
      path: 'job.lora',
      message: `adapters are trained in a lora task, not in ${input.task ?? 'pretrain'}`,
      remedy: 'Set job.task to lora, or job.lora to null.',
    });
  // FSDP's mixed precision keeps fp32 weights and casts what it gathers; DeepSpeed's gradients are as wide as its weights
  const weights = family === 'fsdp' ? 'fp32' : half;
  const gradients = family === 'deepspeed' ? half : 'fp32';
  const merged = {
    kind: 'training',
    ...present(input),
    lora: input.task === 'lora' ? (input.lora ?? {}) : null,
    precision: { compute, weights, gradients, optimizer: 'adam-fp32', ...present(input.precision ?? {}) },
    framework: { version: null, stack: null, ...present(input.framework ?? {}), family: family ?? 'megatron-lm' },
  };
  return parsePart(jobSchema as z.ZodType<Scenario['job']>, merged, 'job', issues);
}

/** Name and peaks of the accelerator as the scenario overrides them. */
function customised(accelerator: Accelerator, { acceleratorOverrides }: Cluster): Accelerator {
  const { name = accelerator.name, peakTflops = {} } = acceleratorOverrides ?? {};
  return { ...accelerator, name, peakTflops: { ...accelerator.peakTflops, ...present(peakTflops) } };
}

function noUnits({ name, peakTflops }: Accelerator, { precision }: Scenario['job']): Issue {
  // who asks for few bits is told of the next wider ones too
  const wider = precision.compute === 'fp4' ? (['bf16', 'fp16', 'fp8'] as const) : (['bf16', 'fp16'] as const);
  const usable = wider.filter((kind) => peakTflops[kind] !== null);
  const names = usable.length < 2 ? usable.join('') : `${usable.slice(0, -1).join(', ')} or ${usable.at(-1)}`;
  const remedy =
    usable.length === 0
      ? 'Use another accelerator.'
      : `Use ${names}${usable.includes('bf16') ? '' : ' (with loss scaling)'}.`;
  return { path: 'job.precision.compute', message: `${name} has no ${precision.compute} units`, remedy };
}

/** What a later version will plan; refusing is better than planning something else in silence. */
function unsupported(job: Scenario['job'], accelerator: Accelerator): Issue[] {
  const issues: Issue[] = [];
  if (job.precision.compute === 'fp32')
    issues.push({
      path: 'job.precision.compute',
      message: `${job.precision.compute} training is not planned by this version`,
      remedy: 'Use bf16, fp16, fp8 or fp4.',
    });
  else if (accelerator.peakTflops[job.precision.compute] === null) issues.push(noUnits(accelerator, job));
  return issues;
}

/** More memory usable than there is, through a figure of the scenario's own. */
function memoryFault(accelerator: Accelerator, { acceleratorOverrides }: Cluster): Issue[] {
  const memory = acceleratorOverrides?.memoryGiB ?? accelerator.memoryGiB;
  const usable = acceleratorOverrides?.usableMemoryGiB ?? accelerator.usableMemoryGiB;
  if (usable <= memory) return [];
  return [
    {
      path: 'cluster.acceleratorOverrides.usableMemoryGiB',
      message: `must be at most memoryGiB = ${memory}, found ${usable}`,
      remedy: 'Give what a process can allocate of that memory; of an 80 GiB H100 it is 79.1.',
    },
  ];
}

function inconsistent(model: Model, cluster: Cluster, accelerator: Accelerator): Issue[] {
  const issues = memoryFault(accelerator, cluster);
  const pattern = patternFault(model);
  if (pattern !== null)
    issues.push({
      path: 'model.layerPattern',
      message: pattern,
      remedy: 'Name the kind of every layer once, in order; kinds are described in model.layerKinds.',
    });
  if (model.moe !== null && model.moe.expertsPerToken > model.moe.numExperts)
    issues.push({
      path: 'model.moe.expertsPerToken',
      message: `must be at most numExperts = ${model.moe.numExperts}, found ${model.moe.expertsPerToken}`,
      remedy: 'Give how many experts each token is sent to.',
    });
  if (model.numHeads % model.numKvHeads !== 0)
    issues.push({
      path: 'model.numKvHeads',
      message: `must divide numHeads = ${model.numHeads}, found ${model.numKvHeads}`,
      remedy: 'Give a divisor of numHeads.',
    });
  if (
    cluster.numAccelerators > cluster.acceleratorsPerNode &&
    cluster.numAccelerators % cluster.acceleratorsPerNode !== 0
  )
    issues.push({
      path: 'cluster.numAccelerators',
      message: `must fill whole nodes of ${cluster.acceleratorsPerNode}, found ${cluster.numAccelerators}`,
      remedy: `Use ${Math.ceil(cluster.numAccelerators / cluster.acceleratorsPerNode) * cluster.acceleratorsPerNode}.`,
    });
  const { scaleUp, scaleOut, acceleratorsPerNode, numAccelerators } = cluster;
  const linked = Math.max(acceleratorsPerNode, scaleUp.domainSize);
  if (numAccelerators > linked && scaleOut.nicsPerAccelerator * scaleOut.bandwidthGbps === 0)
    issues.push({
      path:
        scaleOut.nicsPerAccelerator === 0 ? 'cluster.scaleOut.nicsPerAccelerator' : 'cluster.scaleOut.bandwidthGbps',
      message:
        `must be above 0, found 0: ${numAccelerators.toLocaleString('en-US')} accelerators need a network ` +
        `beyond the ${linked} that scale-up links or one node join`,
      remedy: `Give ${scaleOut.nicsPerAccelerator === 0 ? 'the NICs of an accelerator, e.g. 1' : 'the Gb/s of a NIC, e.g. 400'}, or use at most ${linked} accelerators.`,
    });
  return issues;
}

/**
 * Fills presets and defaults in, checks every field, and refuses what this version does not plan.
 * Throws AppError (unknown-preset, invalid-field, unsupported) that lists every fault found.
 */
export function resolveScenario(input: ScenarioInput, presets: Presets): Scenario {
  const issues: Issue[] = [];
  const model = resolveModel(input.model, presets, issues);
  const cluster = resolveCluster(input.cluster, presets, issues);
  const job = resolveJob(input.job, issues);
  if (model === null || cluster === null || job === null || issues.length > 0)
    throw inputError('invalid-field', 'scenario', issues);
  const accelerator = findAccelerator(presets, cluster.accelerator);
  const faults = inconsistent(model, cluster, accelerator);
  if (faults.length > 0) throw inputError('invalid-field', 'scenario', faults);
  if (input.objective === 'robust')
    throw inputError('unsupported', 'scenario', [
      {
        path: 'objective',
        message: 'robustness is not planned by this version',
        remedy: 'Use throughput, time, cost, energy or memory-headroom.',
      },
    ]);
  const missing = unsupported(job, customised(accelerator, cluster));
  if (missing.length > 0) throw inputError('unsupported', 'scenario', missing);
  return { ...input, model, cluster, job };
}
