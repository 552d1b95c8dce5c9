import { expectAccessible } from './accessibility.ts';
import { expect, test } from './fixtures.ts';

test('the cluster step tells where figures come from, takes own ones, and levels of the network', async ({
  appPage: page,
}) => {
  const settled = () => expect(page.locator('#app')).toHaveAttribute('data-busy', 'false');
  await settled();
  await page.getByTestId('new-scenario').click();
  await page.getByTestId('step-nav-cluster').click();

  await page.getByTestId('accelerator-sources').locator('summary').click();
  await expect(page.getByTestId('accelerator-sources')).toContainText('datasheet');
  await expect(page.getByTestId('accelerator-sources')).toContainText('A – read in the source');

  await page.getByRole('button', { name: 'Add a level' }).click();
  await expect(page.getByTestId('tier')).toHaveCount(1);

  await page.getByText('Figures of the accelerator', { exact: true }).click();
  await page.getByText('Use my own figures').click();
  const memory = page.locator('[data-field="cluster.acceleratorOverrides.memoryGiB"]');
  await expect(memory).toHaveValue('80');
  await memory.fill('96');
  await memory.press('Tab');
  await settled();
  await expect(memory).toHaveValue('96');
  await expectAccessible(page);

  await page.getByRole('button', { name: 'Remove this level' }).click();
  await expect(page.getByTestId('tier')).toHaveCount(0);
  await settled();
});

test('a part without measured kernels says so where its plans are listed', async ({ appPage: page }) => {
  const settled = () => expect(page.locator('#app')).toHaveAttribute('data-busy', 'false');
  await settled();
  await page.getByTestId('new-scenario').click();
  await page.getByTestId('step-nav-cluster').click();
  await page.getByTestId('cluster-accelerator').selectOption({ label: 'AMD Instinct MI300X' });
  await settled();
  await page.getByTestId('plan-it').click();
  await expect(page.getByTestId('caveats')).toContainText('no kernels were measured on it');
  await settled();
  await expectAccessible(page);
});
