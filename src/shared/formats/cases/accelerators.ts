/** Accelerators by the names that records use: "H100-SXM-80" is the catalog's "H100-80GB-SXM". */
import { normalizeId, type Accelerator } from '../../schema/index.ts';

/** The parts of a name, in any order and without units and generations of sockets. */
function partsOf(name: string): string {
  const parts = normalizeId(name)
    .replace(/gb\b/g, '')
    .replace(/\bsxm\d\b/g, 'sxm')
    .split('-');
  return parts
    .filter((part) => part !== '')
    .sort()
    .join('-');
}

/** The accelerator of that name; null where the catalog has none. */
export function acceleratorNamed(name: string, accelerators: readonly Accelerator[]): Accelerator | null {
  const named = (matches: (alias: string) => boolean) =>
    accelerators.find(({ id, aliases }) => [id, ...aliases].some(matches));
  const exact = named((alias) => normalizeId(alias) === normalizeId(name));
  return exact ?? named((alias) => partsOf(alias) === partsOf(name)) ?? null;
}
