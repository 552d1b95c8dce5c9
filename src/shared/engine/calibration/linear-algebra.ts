/**
 * x of A·x = b for a symmetric positive definite A [n, n] and b [n], by Cholesky's method.
 * Throws RangeError where A is not positive definite.
 */
export function solvePositiveDefinite(matrix: readonly Float64Array[], right: Float64Array): Float64Array {
  const size = right.length;
  const lower = matrix.map((row) => Float64Array.from(row));
  const at = (i: number, j: number) => lower[i]?.[j] ?? Number.NaN;
  for (let i = 0; i < size; i += 1) {
    const row = lower[i] ?? new Float64Array(size);
    for (let j = 0; j <= i; j += 1) {
      let sum = at(i, j);
      for (let k = 0; k < j; k += 1) sum -= at(i, k) * at(j, k);
      if (i === j && !(sum > 0)) throw new RangeError('the matrix is not positive definite');
      row[j] = i === j ? Math.sqrt(sum) : sum / at(j, j);
    }
  }
  const solution = Float64Array.from(right);
  const value = (i: number) => solution[i] ?? Number.NaN;
  for (let i = 0; i < size; i += 1) {
    let sum = value(i);
    for (let k = 0; k < i; k += 1) sum -= at(i, k) * value(k);
    solution[i] = sum / at(i, i);
  }
  for (let i = size - 1; i >= 0; i -= 1) {
    let sum = value(i);
    for (let k = i + 1; k < size; k += 1) sum -= at(k, i) * value(k);
    solution[i] = sum / at(i, i);
  }
  return solution;
}
