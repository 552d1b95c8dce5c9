import { expectAccessible } from './accessibility.ts';
import { expect, test } from './fixtures.ts';

/** Every screen as a user with assistive technology meets it, in both themes. */
for (const theme of ['light', 'dark'] as const)
  test(`every screen is free of accessibility faults, ${theme}`, async ({ appPage: page }) => {
    test.setTimeout(120_000);
    const settled = () => expect(page.locator('#app')).toHaveAttribute('data-busy', 'false');
    await settled();
    await page.getByTestId(`theme-${theme}`).check({ force: true }); // the input itself is under its icon
    await expectAccessible(page);

    await page.getByTestId('new-scenario').click();
    for (const step of ['question', 'model', 'cluster', 'job', 'constraints']) {
      await page.getByTestId(`step-nav-${step}`).click();
      await settled();
      await expectAccessible(page);
    }

    await page.getByTestId('nav-library').click();
    await page.getByTestId('card-open').first().click();
    await settled();
    await expectAccessible(page);
    await page.getByTestId('open-best').click();
    await settled();
    await expectAccessible(page);
  });
