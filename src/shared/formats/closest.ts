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
