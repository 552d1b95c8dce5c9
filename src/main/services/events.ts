import type { AppEvent } from '#shared/contract.ts';

export type EventListener = (event: AppEvent, sequence: number) => void;

const MOST_KEPT = 200;

/**
 * The events of the program, numbered from 1. The last ones are kept for a page whose connection broke off; of the
 * progress of one job only the newest is worth keeping.
 */
export class EventBus {
  readonly #listeners = new Set<EventListener>();
  #recent: { event: AppEvent; sequence: number }[] = [];
  #sequence = 0;

  emit(event: AppEvent): void {
    const sequence = ++this.#sequence;
    const isOld = (kept: AppEvent) => kept.type === 'job-progress' && 'jobId' in event && event.jobId === kept.jobId;
    this.#recent = [...this.#recent.filter((kept) => !isOld(kept.event)), { event, sequence }].slice(-MOST_KEPT);
    for (const listener of this.#listeners) listener(event, sequence);
  }

  /** With `after`, first what came after that number and is still kept. Returns how to stop listening. */
  subscribe(listener: EventListener, after = this.#sequence): () => void {
    for (const { event, sequence } of this.#recent) if (sequence > after) listener(event, sequence);
    const own: EventListener = (event, sequence) => listener(event, sequence); // the same function may listen twice
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }
}
