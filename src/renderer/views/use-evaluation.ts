/** One plan of the open scenario, evaluated again whenever the plan or the scenario changes; late answers are dropped. */
import { shallowRef, toValue, watch, type MaybeRefOrGetter } from 'vue';
import type { Evaluation } from '#shared/contract.ts';
import type { PlanInput, Scenario } from '#shared/schema/index.ts';
import { toCallError, useClient, type CallError } from '../client.ts';

export function useEvaluation(
  scenario: MaybeRefOrGetter<Omit<Scenario, 'results'> | null>,
  plan: MaybeRefOrGetter<PlanInput | null>,
) {
  const client = useClient();
  const evaluation = shallowRef<Evaluation | null>(null);
  const error = shallowRef<CallError | null>(null);
  const isLoading = shallowRef(false);
  let latest = 0;

  async function evaluate() {
    const mine = ++latest;
    const [of, given] = [toValue(scenario), toValue(plan)];
    if (of === null || given === null) {
      evaluation.value = null;
      return;
    }
    isLoading.value = true;
    try {
      const answer = await client.call('plan.evaluate', { scenario: of, plan: given });
      if (mine !== latest) return;
      evaluation.value = answer;
      error.value = null;
    } catch (thrown) {
      if (mine === latest) error.value = toCallError(thrown);
    } finally {
      if (mine === latest) isLoading.value = false;
    }
  }
  // by value: a scenario that was only read again must not evaluate anew
  watch(() => JSON.stringify([toValue(scenario), toValue(plan)]), evaluate, { immediate: true });

  return { evaluation, error, isLoading, evaluate };
}
