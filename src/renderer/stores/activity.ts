/** Whether anything is under way. The page shows it as `data-busy` on its root, so that a test can wait for quiet. */
import { defineStore } from 'pinia';
import { computed, ref } from 'vue';
import { useClient } from '../client.ts';

export const useActivity = defineStore('activity', () => {
  const running = ref(0);
  const client = useClient();
  const isBusy = computed(() => running.value > 0 || client.pending.value > 0);

  /** Counts one thing as under way until the function that it returns is called; calling that twice is harmless. */
  function begin(): () => void {
    let open = true;
    running.value++;
    return () => {
      if (open) running.value--;
      open = false;
    };
  }

  return { isBusy, begin };
});
