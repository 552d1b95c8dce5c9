/** What the reader has chosen for this machine. */
import { usePreferredDark, useStorage } from '@vueuse/core';
import { defineStore } from 'pinia';
import { computed, watchEffect } from 'vue';

export const themes = ['light', 'dark', 'system'] as const;
export type Theme = (typeof themes)[number];

export const useSettings = defineStore('settings', () => {
  const theme = useStorage<Theme>('trainyard.theme', 'system');
  const prefersDark = usePreferredDark();
  const isDark = computed(() => theme.value === 'dark' || (theme.value !== 'light' && prefersDark.value));

  watchEffect(
    () => {
      document.documentElement.dataset['theme'] = isDark.value ? 'dark' : 'light';
    },
    { flush: 'sync' }, // charts read their colours from the page right after
  );

  return { theme, isDark };
});
