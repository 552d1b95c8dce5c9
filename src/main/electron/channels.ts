/** The names that the main process and the preload call each other by. */
export const channels = {
  /** page → main, answered: `(name, input) => Reply`. */
  request: 'trainyard:request',
  /** page → main: the page listens now, so what waits for it can be sent. */
  listening: 'trainyard:listening',
  /** main → page: one AppEvent. */
  event: 'trainyard:event',
} as const;
