/** What was probably meant by a misspelt word. */

/** Number of single-character edits between two short texts (Levenshtein). */
function distance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}

/** The word of `known` that was probably meant by `word`; null where none is near. Case does not matter. */
export function closest(word: string, known: readonly string[]): string | null {
  const wanted = word.toLowerCase();
  let best: { text: string; edits: number } | null = null;
  for (const text of known) {
    const edits = distance(wanted, text.toLowerCase());
    if (best === null || edits < best.edits) best = { text, edits };
  }
  return best !== null && best.edits <= Math.max(1, Math.floor(wanted.length / 3)) ? best.text : null;
}

/** A thing by its id and further names. */
interface Named {
  id: string;
  aliases?: readonly string[];
}

const MOST_NEAR = 4;

/** Ids of what is nearest to `word` by any of its names: by edits, where one name holds the other by one. */
export function nearest(word: string, known: readonly Named[]): string[] {
  const wanted = word.toLowerCase();
  const edits = (name: string) => {
    const other = name.toLowerCase();
    const isPart = wanted.length > 2 && other.length > 2 && (other.includes(wanted) || wanted.includes(other));
    return isPart ? Math.min(1, distance(wanted, other)) : distance(wanted, other);
  };
  const far = Math.max(2, Math.floor(wanted.length / 2));
  return known
    .map(({ id, aliases = [] }) => ({ id, edits: Math.min(...[id, ...aliases].map(edits)) }))
    .filter((one) => one.edits <= far)
    .sort((a, b) => a.edits - b.edits)
    .slice(0, MOST_NEAR)
    .map(({ id }) => id);
}

/** A remedy for an unknown name: the nearest ones, and where all are listed. */
export function nearWords(word: string, known: readonly Named[], all: string): string {
  const near = nearest(word, known);
  const list = `"trainyard catalog" lists ${all}.`;
  const last = near.pop();
  if (last === undefined) return list;
  return `Did you mean ${near.length === 0 ? '' : `${near.join(', ')} or `}${last}? ${list}`;
}
