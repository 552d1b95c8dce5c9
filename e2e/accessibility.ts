import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';

/** Fails on any WCAG 2.1 A or AA fault that axe finds in the page as it stands. */
export async function expectAccessible(page: Page): Promise<void> {
  const axe = new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']);
  // The usual mode gathers its results in a second tab, which a window of Electron can't open.
  const { violations } = await axe.setLegacyMode(true).analyze();
  const found = violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((n) => n.target.join(' ')).join(', ')}`,
  );
  expect(found, 'accessibility faults').toEqual([]);
}
