/** What ships as data: accelerators, models, clusters, examples. Read once. */
import { defineStore } from 'pinia';
import { computed, shallowRef } from 'vue';
import type { AppInfo } from '#shared/contract.ts';
import type { Accelerator, Catalog } from '#shared/schema/index.ts';
import { toCallError, useClient, type CallError } from '../client.ts';

export const useCatalog = defineStore('catalog', () => {
  const client = useClient();
  const catalog = shallowRef<Catalog | null>(null);
  const info = shallowRef<AppInfo | null>(null);
  const error = shallowRef<CallError | null>(null);
  let loading: Promise<void> | undefined;

  async function read() {
    error.value = null;
    try {
      [catalog.value, info.value] = await Promise.all([client.call('catalog.get', {}), client.call('app.info', {})]);
    } catch (thrown) {
      error.value = toCallError(thrown);
      loading = undefined; // the next load tries again
    }
  }
  function load(): Promise<void> {
    loading ??= read();
    return loading;
  }

  const accelerators = computed<readonly Accelerator[]>(() => catalog.value?.accelerators ?? []);
  const acceleratorName = (id: string) => accelerators.value.find((item) => item.id === id)?.name ?? id;

  return { catalog, info, error, load, accelerators, acceleratorName };
});
