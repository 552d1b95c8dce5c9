import { expectAccessible } from './accessibility.ts';
import { examplesPlanned, expect, test } from './fixtures.ts';

for (const theme of ['light', 'dark'] as const)
  test(`the record: charts, filters, a run opened, what is missing, one's own log, ${theme}`, async ({
    appPage: page,
  }) => {
    const settled = () => expect(page.locator('#app')).toHaveAttribute('data-busy', 'false');
    await settled();
    await page.getByTestId(`theme-${theme}`).check({ force: true }); // the input itself is under its icon
    await page.getByTestId('nav-evidence').click();
    const summary = page.getByTestId('evidence-summary');
    await expect(summary).toContainText('runs; median error');
    await settled();
    await expectAccessible(page);

    const all = Number.parseInt((await summary.textContent()) ?? '', 10);
    await page.getByTestId('evidence-kind').selectOption({ index: 2 });
    await expect.poll(async () => Number.parseInt((await summary.textContent()) ?? '', 10)).toBeLessThan(all);

    await page.getByTestId('table-row').first().click();
    await expect(page.getByTestId('evidence-detail')).toContainText('Parts of the predicted step');
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await expect(page.getByTestId('sheet')).toHaveCount(0);

    await page.getByTestId('tab-missing').click();
    await expect(page.getByRole('tabpanel')).toContainText('recorded runs have no prediction');
    await expectAccessible(page);

    await page.getByTestId('tab-own').click();
    const scenario = page.getByTestId('own-scenario');
    const wanted = scenario.locator('option', { hasText: 'Llama 3.1 405B' });
    await scenario.selectOption((await wanted.textContent())?.trim() ?? '');
    await page.getByTestId('own-log').fill('nothing that is known');
    await page.getByTestId('own-compare').click();
    await expect(page.getByTestId('own-error')).toContainText('Megatron-LM');
    await page
      .getByTestId('own-log')
      .fill('iteration 5/9 | elapsed time per iteration (ms): 9000.0 | global batch size: 7 |');
    await page.getByTestId('own-compare').click();
    await expect(page.getByTestId('own-result')).toContainText('The log has a global batch of 7');
    await expectAccessible(page);
  });

test('the page of a plan names the nearest measured runs', async ({ appPage: page }) => {
  await examplesPlanned(page);
  await page.getByTestId('scenario-card').filter({ hasText: 'Llama 3.1 405B' }).getByTestId('card-open').click();
  await page.getByTestId('open-best').click();
  await expect(page.getByTestId('nearest-evidence').getByRole('listitem')).toHaveCount(5);
});
