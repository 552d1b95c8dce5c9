import { mount } from '@vue/test-utils';
import { describe, expect, test } from 'vitest';
import DataTable from './DataTable.vue';
import NumberInput from './NumberInput.vue';
import { sortedRows, type Column } from './table.ts';

interface Row {
  id: string;
  size: number | null;
}
const columns: Column<Row>[] = [
  { key: 'id', label: 'Name', value: (row) => row.id, text: (row) => row.id },
  {
    key: 'size',
    label: 'Size',
    align: 'end',
    isDescendingFirst: true,
    value: (row) => row.size,
    text: (row) => `${row.size}`,
  },
];
const rows: Row[] = [
  { id: 'b', size: 2 },
  { id: 'c', size: null },
  { id: 'a', size: 10 },
];

describe('sortedRows', () => {
  const ids = (sort: { key: string; descending: boolean } | null) =>
    sortedRows(rows, columns, sort).map(({ id }) => id);
  test('sorts numbers as numbers and leaves nulls last, both ways', () => {
    expect(ids({ key: 'size', descending: false })).toEqual(['b', 'a', 'c']);
    expect(ids({ key: 'size', descending: true })).toEqual(['a', 'b', 'c']);
    expect(ids(null)).toEqual(['b', 'c', 'a']);
  });
});

describe('DataTable', () => {
  const make = () =>
    mount(DataTable<Row>, {
      props: { caption: 'Rows', columns, rows, rowKey: (row: Row) => row.id, selected: 'c' },
      attachTo: document.body,
    });
  test('a heading sorts, and says how', async () => {
    const table = make();
    await table.findAll('th button')[1]?.trigger('click');
    expect(table.emitted('update:sort')?.[0]).toEqual([{ key: 'size', descending: true }]);
    table.unmount();
  });
  test('arrows move, Space selects, Enter opens; one row is in the tab order', async () => {
    const table = make();
    const row = (index: number) => table.findAll('tbody tr')[index]!;
    expect(table.findAll('tbody tr[tabindex="0"]')).toHaveLength(1);
    await row(0).trigger('keydown', { key: 'ArrowDown' });
    expect(document.activeElement).toBe(row(1).element);
    await row(1).trigger('keydown', { key: ' ' });
    await row(1).trigger('keydown', { key: 'Enter' });
    expect(table.emitted('select')?.[0]).toEqual([rows[1]]);
    expect(table.emitted('open')?.[0]).toEqual([rows[1]]);
    expect(row(1).attributes('aria-selected')).toBe('true');
    table.unmount();
  });
});

describe('NumberInput', () => {
  const parse = (text: string) => (/^\d+$/.test(text) ? Number(text) : null);
  function make(modelValue: unknown, nullable = false) {
    const wrapper = mount(NumberInput, { props: { modelValue, parse, format: (n: number) => `<${n}>`, nullable } });
    const box = wrapper.get('input');
    return { wrapper, box, sent: () => wrapper.emitted('update:modelValue')?.map(([value]) => value) };
  }

  test('hands on numbers, and what is none as it was typed', async () => {
    const { box, sent } = make(8);
    expect(box.element.value).toBe('<8>');
    for (const text of ['64', 'sixty', '']) await box.setValue(text);
    expect(sent()).toEqual([64, 'sixty', '']);
  });
  test('empty is null where that is allowed', async () => {
    const { box, sent } = make(8, true);
    await box.setValue(' ');
    expect(sent()).toEqual([null]);
  });
  test('does not rewrite the text while it is typed, but does when the value is changed elsewhere', async () => {
    const { wrapper, box } = make(8);
    await box.trigger('focus');
    await box.setValue('64');
    await wrapper.setProps({ modelValue: 64 });
    expect(box.element.value).toBe('64');
    await wrapper.setProps({ modelValue: 8 });
    expect(box.element.value).toBe('<8>');
    await box.trigger('blur');
    expect(box.element.value).toBe('<8>');
  });
});
