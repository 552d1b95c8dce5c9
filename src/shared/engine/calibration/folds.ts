/**
 * How rows are divided for honest errors: what is predicted was never fitted. Deterministic.
 * Source: MEASURE (grouped 5-fold, leave one source, accelerator or framework out, three rows given); MODEL §9.
 */

/** One division: the keys that are left out together. */
export interface Fold<T> {
  key: string;
  train: T[];
  test: T[];
}

/** A small generator of numbers in [0, 1) (mulberry32), so that a seed means the same draw on every machine. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The items in a random order of this seed. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = randomOf(seed);
  const order = [...items];
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    const [a, b] = [order[last], order[other]];
    if (a !== undefined && b !== undefined) [order[last], order[other]] = [b, a];
  }
  return order;
}

function foldsOf<T>(items: readonly T[], foldOf: (item: T) => string): Fold<T>[] {
  const keys = [...new Set(items.map(foldOf))];
  return keys.map((key) => ({
    key,
    train: items.filter((item) => foldOf(item) !== key),
    test: items.filter((item) => foldOf(item) === key),
  }));
}

/** `count` folds; items with the same key stay together. */
export function groupedFolds<T>(items: readonly T[], keyOf: (item: T) => string, count = 5, seed = 0): Fold<T>[] {
  const keys = shuffled([...new Set(items.map(keyOf))].sort(), seed);
  const foldOfKey = new Map(keys.map((key, index) => [key, String(index % count)]));
  return foldsOf(items, (item) => foldOfKey.get(keyOf(item)) ?? '0').sort((a, b) => a.key.localeCompare(b.key, 'en'));
}

/** One fold per key: everything of that source, accelerator or framework is left out. */
export function leaveOneOut<T>(items: readonly T[], keyOf: (item: T) => string): Fold<T>[] {
  return foldsOf(items, keyOf);
}

/** `given` items of the list, drawn by this seed, and the rest. */
export function fewGiven<T>(items: readonly T[], given: number, seed: number): { given: T[]; rest: T[] } {
  const chosen = new Set(
    shuffled(
      items.map((_, index) => index),
      seed,
    ).slice(0, given),
  );
  return {
    given: items.filter((_, index) => chosen.has(index)),
    rest: items.filter((_, index) => !chosen.has(index)),
  };
}
