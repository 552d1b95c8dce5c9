/** Edits that are not stored with the scenario yet, kept in this browser so that a reload or a crash loses nothing. */
import type { Draft } from './draft.ts';

export interface KeptDraft {
  /** The revision that the edits were made on; 0 for a new scenario. */
  revision: number;
  draft: Draft;
}

const keyOf = (id: string | null) => `trainyard.draft.${id ?? 'new'}`;

export function keep(id: string | null, draft: KeptDraft): void {
  try {
    localStorage.setItem(keyOf(id), JSON.stringify(draft));
  } catch {
    // storage may be full or off; then only a reload loses what is not yet valid
  }
}

export function kept(id: string | null): KeptDraft | null {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(keyOf(id)) ?? 'null');
    if (typeof value !== 'object' || value === null || !('draft' in value) || !('revision' in value)) return null;
    return typeof value.draft === 'object' && value.draft !== null ? (value as KeptDraft) : null;
  } catch {
    return null;
  }
}

export function dropKept(id: string | null): void {
  try {
    localStorage.removeItem(keyOf(id));
  } catch {
    // as in keep
  }
}
