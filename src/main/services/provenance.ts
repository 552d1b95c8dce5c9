/** What a file said, what its presets filled in, and what was assumed: the answer of `import` (docs/FORMATS.md §5). */
import { z } from 'zod';
import type { PlanInput, Scenario } from '#shared/schema/index.ts';
import type { Planner } from './planner.ts';

export interface ImportReport {
  kind: 'scenario';
  name: string;
  model: Scenario['model'];
  cluster: Scenario['cluster'];
  plan: PlanInput | null;
  job: Scenario['job'];
  /** `active` = parameters that one token passes through; the same for a dense model. */
  parameters: { total: number; active: number };
  /** Per dotted path: `file`, `preset ID`, or `default`. */
  provenance: Record<string, string>;
  /** The defaults that were taken, as `path = value`. */
  assumed: string[];
  /** What nobody said and no default stands for. */
  missing: string[];
  warnings: string[];
}

const anyObject = z.record(z.string(), z.unknown());

function leavesOf(value: unknown, path: string): [string, unknown][] {
  const object = anyObject.safeParse(value);
  if (!object.success || Array.isArray(value)) return [[path, value]];
  return Object.entries(object.data).flatMap(([key, inner]) => leavesOf(inner, `${path}.${key}`));
}

function isGiven(raw: unknown, path: string): boolean {
  let value = raw;
  for (const key of path.split('.')) {
    const object = anyObject.safeParse(value);
    if (!object.success || !Object.hasOwn(object.data, key)) return false;
    value = object.data[key];
  }
  return true;
}

/** Compares what a file says (`raw`, its JSON) with the scenario that was made of it. */
export function reportImport(planner: Planner, scenario: Scenario, raw: unknown, warnings: string[]): ImportReport {
  const { name, model, cluster, plan, job } = scenario;
  const provenance: Record<string, string> = {};
  const assumed: string[] = [];
  const preset = { model: model.preset, cluster: cluster.preset, job: null };
  for (const part of ['model', 'cluster', 'job'] as const)
    for (const [path, value] of leavesOf(scenario[part], part)) {
      const fromPreset = preset[part] === null ? 'default' : `preset ${preset[part]}`;
      const origin = isGiven(raw, path) ? 'file' : fromPreset;
      provenance[path] = origin;
      if (origin === 'default' && value !== null) assumed.push(`${path} = ${JSON.stringify(value)}`);
    }
  const missing = [job.tokens === null ? 'job.tokens' : null, cluster.price === null ? 'cluster.price' : null];
  const { parameters, activeParameters } = planner.preview(scenario);
  return {
    kind: 'scenario',
    name,
    model,
    cluster,
    plan,
    job,
    parameters: { total: parameters, active: activeParameters },
    provenance,
    assumed,
    missing: missing.filter((path) => path !== null),
    warnings,
  };
}
