import { expectAccessible } from './accessibility.ts';
import { examplesPlanned, expect, test } from './fixtures.ts';

test('the model step draws the layers by kind, and lets their order be changed', async ({ appPage: page }) => {
  const settled = () => expect(page.locator('#app')).toHaveAttribute('data-busy', 'false');
  await settled();
  await page.getByTestId('new-scenario').click();
  await page.getByTestId('step-nav-model').click();
  const strip = page.getByTestId('layer-strip');

  await page.getByTestId('model-preset').selectOption({ label: 'DeepSeek-V3 (671B)' });
  await settled();
  await expect(strip).toContainText('3 × Latent attention');
  await expect(strip).toContainText('58 × Latent attention, 128 heads over a latent of 512; then 256 experts');
  await expect(strip).toContainText('1 × Multi-token prediction');
  await expect(page.getByTestId('total-ratio')).toContainText('compute-optimal');

  await page.getByTestId('model-preset').selectOption({ label: 'Nemotron-H 8B (8.1B)' });
  await settled();
  await expect(strip).toContainText('24 × Mamba-2');
  await page.getByTestId('pattern').locator('summary').click();
  const first = page.locator('[data-field="model.layerPattern.0.count"]');
  await first.fill('3');
  await first.blur();
  await settled();
  await expect(strip).toContainText('26 × Mamba-2');
  await expect(page.locator('input[data-field="model.numLayers"], [data-field="model.numLayers"] input')).toHaveValue(
    '54',
  );
  await expectAccessible(page);
});

test('schedule, modules and offload are chosen in plain words and estimated at once', async ({ appPage: page }) => {
  const settled = () => expect(page.locator('#app')).toHaveAttribute('data-busy', 'false');
  await examplesPlanned(page);
  await page.getByTestId('scenario-card').filter({ hasText: 'GPT 1T' }).getByTestId('card-open').click();
  await page.getByTestId('open-best').click();
  await settled();
  await page.getByTestId('more-choices').locator('summary').click();
  await page.getByTestId('edit-recompute').selectOption({ label: 'Selective' });
  await settled();
  const memory = await page.getByTestId('number-memory').textContent();
  await page.getByTestId('module-mlp').click();
  await settled();
  await expect(page.getByTestId('number-memory')).not.toHaveText(memory ?? '');
  await page.getByTestId('edit-offload.optimizer').selectOption({ label: 'All' });
  await settled();
  await expect(page.getByTestId('communication')).toContainText('Offloaded states');
  await page.getByTestId('edit-schedule.name').selectOption({ label: 'ZB-V' });
  await settled();
  await expect(page.getByTestId('violations')).toContainText('two chunks per rank');
  await expectAccessible(page);
});
