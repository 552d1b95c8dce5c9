import { z } from 'zod';
import { scenarioSchema } from '#shared/schema/index.ts';

interface JsonSchema {
  properties?: Record<string, JsonSchema>;
  anyOf?: JsonSchema[];
}

/** Dotted paths of all leaves of a scenario; a part that may be null counts by its fields. */
export function schemaPaths(): string[] {
  const walk = (schema: JsonSchema, path: string): string[] => {
    const inner = schema.properties ?? schema.anyOf?.find((part) => part.properties !== undefined)?.properties;
    const isOpaque = ['plan', 'results', 'model.moe', 'model.mla'].includes(path);
    if (inner === undefined || isOpaque) return [path];
    return Object.entries(inner).flatMap(([key, child]) => walk(child, path === '' ? key : `${path}.${key}`));
  };
  return walk(z.toJSONSchema(scenarioSchema, { unrepresentable: 'any' }) as JsonSchema, '');
}
