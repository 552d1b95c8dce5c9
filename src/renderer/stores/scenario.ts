/**
 * The scenario that is open, or a new one that is not stored yet: its draft with undo, the checks of each edit, and
 * autosave. An edit is saved as soon as the whole draft is valid; until then it is kept in this browser, so that a
 * reload loses nothing. When somebody else has changed the same scenario, the reader decides (`conflict`).
 */
import { defineStore } from 'pinia';
import { computed, ref, shallowRef } from 'vue';
import type { Preview, ScenarioRecord } from '#shared/contract.ts';
import type { Issue } from '#shared/errors.ts';
import type { Scenario } from '#shared/schema/index.ts';
import { toCallError, useClient, type CallError } from '../client.ts';
import { useActivity } from './activity.ts';
import {
  draftOf,
  historyOf,
  isSameDraft,
  pushed,
  redone,
  undone,
  valueAt,
  withValues,
  type Draft,
  type History,
} from './draft.ts';
import { dropKept, keep, kept } from './kept-drafts.ts';
import { omit } from './omit.ts';
import { useSearch } from './search.ts';

const CHECK_DELAY_MILLISECONDS = 250;
/** Edits of one field within this time are one step of undo. */
const MERGE_MILLISECONDS = 1_500;

export type SaveState = 'new' | 'saved' | 'unsaved' | 'saving' | 'invalid' | 'failed';

export const useScenario = defineStore('scenario', () => {
  const client = useClient();
  const activity = useActivity();
  const search = useSearch();

  const id = ref<string | null>(null);
  const record = shallowRef<ScenarioRecord | null>(null);
  const history = shallowRef<History<Draft>>(historyOf({}));
  const preview = shallowRef<Preview | null>(null);
  const issues = shallowRef<readonly Issue[]>([]);
  const saveState = ref<SaveState>('new');
  /** Why the scenario could not be opened. */
  const openError = shallowRef<CallError | null>(null);
  /** Why the last check or save failed, other than by faults in fields. */
  const saveError = shallowRef<CallError | null>(null);
  /** What is stored, when it is not what the draft was made from. */
  const conflict = shallowRef<ScenarioRecord | null>(null);

  const draft = computed(() => history.value.present);
  const canUndo = computed(() => history.value.past.length > 0);
  const canRedo = computed(() => history.value.future.length > 0);
  const isDirty = computed(() => record.value === null || !isSameDraft(draft.value, draftOf(record.value.scenario)));

  let timer: ReturnType<typeof setTimeout> | undefined;
  let settle: (() => void) | undefined;
  let checkNumber = 0;
  let checking: Promise<boolean> = Promise.resolve(true);
  /** Scenarios that changed while they were being read: what comes back may be older than the change. */
  const changedWhileOpening = new Set<string>();
  let saving: Promise<void> = Promise.resolve();
  let lastEdit = { path: '', time: 0 };

  function reset(present: Draft, stored: ScenarioRecord | null) {
    cancelCheck();
    checkNumber++;
    record.value = stored;
    id.value = stored?.id ?? null;
    history.value = historyOf(present);
    lastEdit = { path: '', time: 0 };
    preview.value = null;
    issues.value = [];
    conflict.value = null;
    openError.value = null;
    saveError.value = null;
    saveState.value = stored === null ? 'new' : 'saved';
  }

  /** Begins a scenario that is stored when it is planned. A draft that was left unfinished goes on. */
  function beginNew(fallback: Draft) {
    const left = kept(null);
    reset(left?.draft ?? fallback, null);
    void check();
    return left !== null;
  }
  function startOver(present: Draft) {
    dropKept(null);
    reset(present, null);
    void check();
  }

  function adopt(stored: ScenarioRecord) {
    reset(draftOf(stored.scenario), stored);
    const left = kept(stored.id);
    if (left === null || isSameDraft(left.draft, draft.value)) return;
    history.value = pushed(history.value, left.draft);
    saveState.value = 'unsaved';
    if (left.revision === stored.revision) void check();
    else conflict.value = stored;
  }

  async function open(wanted: string, { reload = false } = {}) {
    if (id.value === wanted && record.value !== null && openError.value === null && !reload) return;
    const before = flush(); // what was typed into the one open before
    id.value = wanted;
    try {
      await before;
      changedWhileOpening.delete(wanted);
      const stored = await client.call('scenario.get', { id: wanted });
      if (id.value !== wanted) return;
      adopt(stored);
      if (changedWhileOpening.delete(wanted)) await refresh();
    } catch (error) {
      if (id.value !== wanted) return;
      reset({}, null);
      id.value = wanted;
      openError.value = toCallError(error);
    }
  }

  function set(next: History<Draft>) {
    history.value = next;
    if (isDirty.value) keep(id.value, { revision: record.value?.revision ?? 0, draft: draft.value });
    else dropKept(id.value);
    if (record.value !== null) saveState.value = isDirty.value ? 'unsaved' : 'saved';
    scheduleCheck();
  }
  /** One step of undo that sets a value, and what else follows from it. */
  function edit(path: string, value: unknown, also: Readonly<Record<string, unknown>> = {}) {
    if (Object.is(valueAt(draft.value, path), value)) return;
    const now = performance.now();
    const merge = lastEdit.path === path && now - lastEdit.time < MERGE_MILLISECONDS;
    lastEdit = { path, time: now };
    set(pushed(history.value, withValues(draft.value, { [path]: value, ...also }), merge));
  }
  /** Replaces several values as one step, e.g. a whole model by a preset. */
  function editAll(values: Readonly<Record<string, unknown>>) {
    lastEdit = { path: '', time: 0 };
    set(pushed(history.value, withValues(draft.value, values)));
  }
  function undo() {
    lastEdit = { path: '', time: 0 };
    if (canUndo.value) set(undone(history.value));
  }
  function redo() {
    if (canRedo.value) set(redone(history.value));
  }

  function cancelCheck() {
    clearTimeout(timer);
    timer = undefined;
    settle?.();
    settle = undefined;
  }
  function scheduleCheck() {
    cancelCheck();
    settle = activity.begin();
    timer = setTimeout(() => {
      const end = settle;
      timer = settle = undefined;
      void check().finally(() => end?.());
    }, CHECK_DELAY_MILLISECONDS);
  }

  /** Has the services check the draft; a valid one is saved. True when it is valid. */
  function check(): Promise<boolean> {
    checking = checkNow();
    return checking;
  }
  async function checkNow(): Promise<boolean> {
    const mine = ++checkNumber;
    const checked = draft.value;
    try {
      const totals = await client.call('scenario.preview', { scenario: checked });
      if (mine !== checkNumber) return false;
      preview.value = totals;
      issues.value = [];
      saveError.value = null;
    } catch (error) {
      if (mine === checkNumber) refuse(toCallError(error));
      return false;
    }
    if (record.value !== null && isDirty.value) await save();
    return true;
  }
  function refuse(error: CallError) {
    const { code, path, message, remedy } = error;
    issues.value = error.issues.length > 0 ? error.issues : path === '' ? [] : [{ path, message, remedy }];
    saveError.value = issues.value.length > 0 ? null : error;
    if (record.value !== null) saveState.value = code === 'internal' ? 'failed' : 'invalid';
  }

  /** One save after the other: each names the revision that the last one gave. */
  function save(): Promise<void> {
    saving = saving.then(saveNow);
    return saving;
  }
  async function saveNow() {
    const stored = record.value;
    if (stored === null || conflict.value !== null || !isDirty.value) return;
    const sent = draft.value;
    saveState.value = 'saving';
    try {
      saved(await client.call('scenario.update', { id: stored.id, revision: stored.revision, scenario: sent }), sent);
    } catch (thrown) {
      const error = toCallError(thrown);
      if (error.code === 'conflict') await resolveConflict(stored);
      else refuse(error);
    }
  }
  function saved(next: ScenarioRecord, sent: Draft) {
    if (record.value?.id !== next.id) return; // another one was opened meanwhile
    record.value = next;
    if (next.scenario.results === null) search.forget(next.id);
    // the services may spell the same thing differently (trimmed names): take theirs, unless there are newer edits
    if (draft.value === sent) history.value = { ...history.value, present: draftOf(next.scenario) };
    saveState.value = isDirty.value ? 'unsaved' : 'saved';
    if (!isDirty.value) dropKept(next.id);
  }

  /** A newer revision with the same content (results were added) is no conflict; a different content is. */
  async function resolveConflict(base: ScenarioRecord) {
    const theirs = await client.call('scenario.get', { id: base.id });
    if (record.value?.id !== base.id) return;
    saveState.value = 'unsaved';
    if (!isSameDraft(draftOf(theirs.scenario), draftOf(base.scenario))) conflict.value = theirs;
    else {
      record.value = theirs;
      await saveNow();
    }
  }

  /** Reads the stored record again, after a search or when somebody changed it. */
  async function refresh() {
    await saving;
    const base = record.value;
    if (base === null) return;
    const stored = await client.call('scenario.get', { id: base.id });
    if (record.value?.id !== base.id || stored.revision < record.value.revision) return;
    openError.value = null; // a deletion elsewhere may have been undone
    const isSame = isSameDraft(draftOf(stored.scenario), draftOf(record.value.scenario));
    if (isSame) record.value = stored;
    else if (isDirty.value) conflict.value = stored;
    else adopt(stored);
  }
  client.on('scenarios-changed', (event) => {
    if (record.value !== null && event.ids.includes(record.value.id)) void refresh().catch(refreshFailed);
    else if (id.value !== null && event.ids.includes(id.value)) changedWhileOpening.add(id.value);
  });
  function refreshFailed(error: unknown) {
    const { code } = toCallError(error);
    if (code === 'not-found') openError.value = toCallError(error); // deleted elsewhere
  }

  function takeTheirs() {
    if (conflict.value === null) return;
    dropKept(conflict.value.id);
    adopt(conflict.value);
  }
  async function overwriteTheirs() {
    if (conflict.value === null) return;
    record.value = conflict.value;
    conflict.value = null;
    await check();
  }

  /** Checks and saves what is still waiting. True when the draft is valid and, once stored, saved. */
  async function flush(): Promise<boolean> {
    if (timer !== undefined) {
      cancelCheck();
      void check();
    }
    await checking;
    await saving;
    return issues.value.length === 0 && saveError.value === null && (record.value === null || !isDirty.value);
  }

  /** Stores a new scenario. Rejects with a CallError. */
  async function create(): Promise<ScenarioRecord> {
    cancelCheck();
    const stored = await client.call('scenario.create', { scenario: draft.value });
    dropKept(null);
    reset(draftOf(stored.scenario), stored);
    return stored;
  }

  /** The stored scenario without its results: what an evaluation of one plan needs. */
  const planned = computed<Omit<Scenario, 'results'> | null>(() => {
    if (record.value === null) return null;
    return omit(record.value.scenario, 'results');
  });

  return {
    ...{ id, record, draft, preview, issues, saveState, openError, saveError, conflict, planned },
    ...{ canUndo, canRedo, isDirty },
    ...{ beginNew, startOver, open, edit, editAll, undo, redo, check, flush, create, refresh },
    ...{ takeTheirs, overwriteTheirs },
  };
});
