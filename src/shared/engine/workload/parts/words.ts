/** A count as people write it: 14,336. */
export const inDigits = (count: number): string => count.toLocaleString('en-US');
