/** The cards of the saved scenarios, and what one does with a whole scenario. */
import { defineStore } from 'pinia';
import { computed, ref, shallowRef } from 'vue';
import type { ImportedRecord, ScenarioCard, ScenarioRecord } from '#shared/contract.ts';
import { toCallError, useClient, type CallError } from '../client.ts';

export const useLibrary = defineStore('library', () => {
  const client = useClient();
  const cards = shallowRef<readonly ScenarioCard[]>([]);
  const isLoaded = ref(false);
  const error = shallowRef<CallError | null>(null);
  const query = ref('');
  let latest = 0;

  const found = computed(() => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    return cards.value.filter((card) => {
      const text = `${card.name} ${card.modelName} ${card.clusterLabel}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  });

  async function load() {
    const mine = ++latest;
    try {
      const list = await client.call('scenario.list', {});
      if (mine !== latest) return; // a newer list is on its way
      cards.value = list;
      error.value = null;
    } catch (thrown) {
      if (mine === latest) error.value = toCallError(thrown);
    }
    isLoaded.value = true;
  }
  client.on('scenarios-changed', () => {
    if (latest > 0) void load(); // also while the first list is on its way: it may be older than the change
  });

  async function rename(id: string, name: string) {
    await client.call('scenario.rename', { id, name });
    await load();
  }
  async function duplicate(id: string): Promise<ScenarioRecord> {
    const record = await client.call('scenario.duplicate', { id });
    await load();
    return record;
  }
  async function remove(id: string) {
    cards.value = cards.value.filter((card) => card.id !== id);
    try {
      await client.call('scenario.delete', { id });
    } finally {
      await load();
    }
  }
  async function restore(id: string) {
    await client.call('scenario.restore', { id });
    await load();
  }
  async function importText(fileName: string, text: string): Promise<ImportedRecord> {
    const record = await client.call('scenario.import', { fileName, text });
    await load();
    return record;
  }
  const exportText = (id: string) => client.call('scenario.export', { id });

  return { cards, found, query, isLoaded, error, load, rename, duplicate, remove, restore, importText, exportText };
});
