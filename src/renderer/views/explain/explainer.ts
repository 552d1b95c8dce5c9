/** Opens the numbers of the plan on screen: which one is open stands in the address, figures are asked for once. */
import {
  computed,
  inject,
  provide,
  shallowRef,
  toValue,
  watch,
  type InjectionKey,
  type MaybeRefOrGetter,
  type ShallowRef,
} from 'vue';
import { useRoute, useRouter } from 'vue-router';
import type { Figure, FigureLine, PlanInput, Scenario } from '#shared/schema/index.ts';
import { toCallError, useClient, type CallError } from '../../client.ts';
import { omit } from '../../stores/omit.ts';

export interface Explainer {
  /** Ids of the open figure and of those it was reached through; empty: none is open. */
  readonly trail: Readonly<ShallowRef<readonly string[]>>;
  /** Opens a figure, as the first or after those that are open. */
  open(id: string, after?: readonly string[]): void;
  close(): void;
  /** The figure of an id; asked for again when plan or scenario change. */
  figure(id: MaybeRefOrGetter<string | null>): {
    figure: ShallowRef<Figure | null>;
    error: ShallowRef<CallError | null>;
  };
  /** All figures of the plan. */
  readonly lines: ShallowRef<readonly FigureLine[]>;
}

const key: InjectionKey<Explainer> = Symbol('explainer');
/** Between ids in the address; ids hold letters, digits and dots. */
const SEPARATOR = '~';

export interface Explained {
  scenario: Omit<Scenario, 'results'>;
  plan: PlanInput;
}

type Source = MaybeRefOrGetter<Explained | null>;
const textOf = (source: Source) => JSON.stringify(toValue(source));

/** The list of figures of the plan; empty for one that breaks a rule, which the page says itself. */
function useLines(source: Source): ShallowRef<readonly FigureLine[]> {
  const client = useClient();
  const lines = shallowRef<readonly FigureLine[]>([]);
  async function read(of: string) {
    const now = toValue(source);
    const list = now === null ? [] : await client.call('plan.figures', now).catch(() => []);
    if (of === textOf(source)) lines.value = list;
  }
  watch(() => textOf(source), read, { immediate: true });
  return lines;
}

/** Single figures: each is asked for once per plan, late answers are dropped. */
function useFigures(source: Source): Explainer['figure'] {
  const client = useClient();
  let known = { of: '', answers: new Map<string, Promise<Figure>>() };
  function ask(now: Explained, id: string): Promise<Figure> {
    const of = textOf(source);
    if (known.of !== of) known = { of, answers: new Map() };
    let asked = known.answers.get(id);
    if (asked === undefined) known.answers.set(id, (asked = client.call('plan.explain', { ...now, figure: id })));
    return asked;
  }
  return (id) => {
    const figure = shallowRef<Figure | null>(null);
    const error = shallowRef<CallError | null>(null);
    let latest = 0;
    async function read() {
      const mine = ++latest;
      const [wanted, now] = [toValue(id), toValue(source)];
      error.value = null;
      if (wanted === null || now === null) return void (figure.value = null);
      try {
        const answer = await ask(now, wanted);
        if (mine === latest) figure.value = answer;
      } catch (thrown) {
        if (mine !== latest) return;
        figure.value = null;
        error.value = toCallError(thrown);
      }
    }
    watch(() => [toValue(id), textOf(source)], read, { immediate: true });
    return { figure, error };
  };
}

/** To be called by the view that shows a plan; what it shows below can then open numbers. */
export function provideExplainer(source: Source): Explainer {
  const route = useRoute();
  const router = useRouter();
  const explainer: Explainer = {
    trail: computed(() => {
      const given = route.query['explain'];
      return typeof given === 'string' && given !== '' ? given.split(SEPARATOR) : [];
    }),
    lines: useLines(source),
    figure: useFigures(source),
    open: (id, after = []) => void router.push({ query: { ...route.query, explain: [...after, id].join(SEPARATOR) } }),
    close: () => void router.push({ query: omit(route.query, 'explain') }),
  };
  provide(key, explainer);
  return explainer;
}

export function useExplainer(): Explainer {
  const explainer = inject(key);
  if (explainer === undefined) throw new Error('provideExplainer has not been called above this component');
  return explainer;
}
