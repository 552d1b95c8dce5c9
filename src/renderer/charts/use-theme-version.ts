import { onScopeDispose, ref, type Ref } from 'vue';

/** A number that grows whenever the page's theme changes: by the reader's choice or the system's. */
export function useThemeVersion(): Readonly<Ref<number>> {
  const version = ref(0);
  const observer = new MutationObserver(() => version.value++);
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  const system = matchMedia('(prefers-color-scheme: dark)');
  const changed = () => version.value++;
  system.addEventListener('change', changed);
  onScopeDispose(() => {
    observer.disconnect();
    system.removeEventListener('change', changed);
  });
  return version;
}
