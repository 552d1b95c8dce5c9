/**
 * Answers that are asked for again and again while one plan is costed: what was computed for the object asked about last is
 * kept. Plans, models and problems are never changed in place, so that the same object means the same answer.
 */

/** `compute`, which answers the object asked about last without computing. */
export function forLast<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  let last: { key: K; value: V } | null = null;
  return (key) => {
    if (last?.key === key) return last.value;
    const value = compute(key);
    last = { key, value };
    return value;
  };
}

/** The same for a function of two objects. */
export function forLastPair<A extends object, B extends object, V>(compute: (a: A, b: B) => V): (a: A, b: B) => V {
  let last: { a: A; b: B; value: V } | null = null;
  return (a, b) => {
    if (last !== null && last.a === a && last.b === b) return last.value;
    const value = compute(a, b);
    last = { a, b, value };
    return value;
  };
}

/** A function of an object, remembered for as long as the object lives. */
export function forEach<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, { value: V }>();
  return (key) => {
    let found = known.get(key);
    if (found === undefined) known.set(key, (found = { value: compute(key) }));
    return found.value;
  };
}
