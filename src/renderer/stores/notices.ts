/** Short messages at the edge of the page: what was done (with Undo), or what went wrong and what to do. */
import { defineStore } from 'pinia';
import { shallowRef } from 'vue';
import { toCallError } from '../client.ts';

export interface Notice {
  id: number;
  tone: 'ok' | 'danger';
  title: string;
  text?: string;
  /** Several faults, one each. */
  items?: readonly string[];
  action?: { label: string; run: () => void };
  duration: number;
}

const MAX_NOTICES = 4;
const OK_MILLISECONDS = 8_000;
/** Errors stay long enough to be read twice; they can be dismissed. */
const ERROR_MILLISECONDS = 20_000;

export const useNotices = defineStore('notices', () => {
  const notices = shallowRef<readonly Notice[]>([]);
  let nextId = 1;

  function add(notice: Omit<Notice, 'id'>) {
    notices.value = [...notices.value, { ...notice, id: nextId++ }].slice(-MAX_NOTICES);
  }
  function tell(title: string, action?: Notice['action']) {
    add({ tone: 'ok', title, duration: OK_MILLISECONDS, ...(action === undefined ? {} : { action }) });
  }
  /** Something was done, but not all of it: says what was left out. */
  function warn(title: string, text: string) {
    add({ tone: 'ok', title, text, duration: ERROR_MILLISECONDS });
  }
  /** Shows what a failed call said. `what` names the deed: "could not rename it". */
  function fail(what: string, error: unknown) {
    const { message, remedy, issues, subject } = toCallError(error);
    if (issues.length > 1) {
      const items = issues.map((issue) => `${issue.path}: ${issue.message}. ${issue.remedy}`);
      const text = `${issues.length} faults in ${subject}:`;
      return add({ tone: 'danger', title: what, text, items, duration: ERROR_MILLISECONDS });
    }
    const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
    const text = remedy === '' ? sentence : `${sentence} ${remedy}`;
    add({ tone: 'danger', title: what, text, duration: ERROR_MILLISECONDS });
  }
  function dismiss(id: number) {
    notices.value = notices.value.filter((notice) => notice.id !== id);
  }
  /** Runs a deed; a failure becomes a notice and gives undefined. */
  async function attempt<T>(what: string, deed: () => Promise<T>): Promise<T | undefined> {
    try {
      return await deed();
    } catch (error) {
      fail(what, error);
      return undefined;
    }
  }

  return { notices, tell, warn, fail, dismiss, attempt };
});
