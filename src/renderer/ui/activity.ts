import { inject, onScopeDispose, type InjectionKey } from 'vue';

/** Counts one thing as under way until the returned function is called. Provided by the page; absent in tests. */
export type BeginActivity = () => () => void;
export const activityKey: InjectionKey<BeginActivity> = Symbol('activity');

/** For a component that is busy now and then (an animation); it is never busy once it is gone. */
export function useActivityFlag(): { start: () => void; end: () => void } {
  const begin = inject(activityKey, () => () => undefined, false);
  let finish: (() => void) | undefined;
  const end = () => {
    finish?.();
    finish = undefined;
  };
  onScopeDispose(end);
  return {
    start() {
      finish ??= begin();
    },
    end,
  };
}
