/** Every field of a scenario that the wizard shows: where it is, what it is called, its unit and its help. */
export interface Choice {
  value: string | null;
  label: string;
}

interface Common {
  path: string;
  label: string;
  unit?: string;
  help?: string;
}
export type FieldSpec = Common &
  (
    | { kind: 'count' | 'number' | 'percent'; nullable?: boolean }
    | { kind: 'text'; nullable?: boolean; multiline?: boolean }
    | { kind: 'choice'; choices: readonly Choice[] }
    /** A list of words; each choice stands for one list, its words joined by commas. */
    | { kind: 'list-choice'; choices: readonly Choice[] }
    | { kind: 'toggle' }
  );

export interface FieldGroup {
  title: string;
  /** A part of the scenario that may be absent: shown with a switch that sets it to `initial` or null. */
  optional?: { path: string; label: string; help: string; initial: unknown };
  /** Folded away at first: right as it is for most. */
  isFolded?: boolean;
  fields: readonly FieldSpec[];
}

export const choices = (...pairs: readonly (readonly [string | null, string])[]): Choice[] =>
  pairs.map(([value, label]) => ({ value, label }));
