import { expectAccessible } from './accessibility.ts';
import { examplesPlanned, expect, test } from './fixtures.ts';

test('every number of a plan opens: by mouse and by keyboard, into formula, inputs, source and parts', async ({
  appPage: page,
}) => {
  const settled = () => expect(page.locator('#app')).toHaveAttribute('data-busy', 'false');
  await examplesPlanned(page);
  await page.getByTestId('scenario-card').filter({ hasText: 'Llama 3.1 405B' }).getByTestId('card-open').click();
  await page.getByTestId('open-best').click();
  await settled();

  await test.step('by keyboard: Enter opens, inputs lead on, the path leads back, Escape returns the focus', async () => {
    const mfu = page.getByTestId('explain-mfu');
    await mfu.focus();
    await page.keyboard.press('Enter');
    await expect(page.getByTestId('explained-value')).toContainText('%');
    await expect(page.getByTestId('explained')).toContainText('model FLOPs ÷ (step time · peak of the cluster)');
    await expect(page.getByTestId('explained')).toContainText('docs/MODEL.md §2.3');
    await expectAccessible(page);
    await page.getByTestId('input-modelFlops').focus();
    await page.keyboard.press('Enter');
    await expect(page.getByTestId('sheet')).toContainText('Model FLOPs of a step');
    await expect(page.getByTestId('explained')).toContainText('Its parts add up to it');
    await page.getByTestId('explained').getByTestId('part-toggle').first().click();
    await expect(page.getByTestId('explained').getByTestId('part-formula').first()).toContainText('tokens per step');
    await page.getByTestId('explain-crumbs').getByRole('button', { name: 'MFU' }).click();
    await expect(page.getByTestId('explained-value')).toContainText('%');
    await page.keyboard.press('Escape');
    await expect(page.getByTestId('sheet')).toHaveCount(0);
    await expect(mfu).toBeFocused();
  });

  await test.step('an address opens the same number again', async () => {
    await page.getByTestId('explain-peakMemoryBytes').click();
    await expect(page.getByTestId('explained')).toContainText('Activations');
    await page.getByTestId('sheet-close').click();
    await page.locator('[data-testid^="explain-memoryByStage."]').click();
    const stage = page.getByTestId('sheet').getByRole('heading', { name: /^Peak memory of stage \d+$/ });
    const title = (await stage.textContent()) ?? '';
    await page.locator('[data-testid="explain-before"]:enabled, [data-testid="explain-after"]:enabled').first().click();
    await expect(stage).not.toHaveText(title);
    const value = await page.getByTestId('explained-value').textContent();
    await page.reload();
    await settled();
    await expect(page.getByTestId('explained-value')).toHaveText(value ?? '');
    await page.getByTestId('sheet-close').click();
  });

  await test.step('a communication names its algorithm, latency and bandwidth apart', async () => {
    await page.getByTestId('explain-call.1').click();
    await expect(page.getByTestId('explained')).toContainText('Its parts add up to it');
    await page.getByTestId('explained').getByTestId('part-toggle').first().click();
    await expect(page.getByTestId('explained')).toContainText('Latency');
    await expect(page.getByTestId('explained')).toContainText('Moving the bytes');
    await page.getByTestId('sheet-close').click();
  });

  await test.step('the pipeline zooms by button and by key, and is a table as well', async () => {
    const canvas = page.getByTestId('timeline-canvas');
    const length = async () =>
      Number(await canvas.getAttribute('data-to')) - Number(await canvas.getAttribute('data-from'));
    const whole = await length();
    await page.getByTestId('timeline-in').click();
    await expect.poll(length).toBeLessThan(0.6 * whole);
    await canvas.focus();
    await page.keyboard.press('End');
    await expect.poll(async () => Number(await canvas.getAttribute('data-from'))).toBeGreaterThan(0.4 * whole);
    await page.keyboard.press('0');
    await expect.poll(length).toBeCloseTo(whole, 6);
    await page.getByTestId('timeline-table').click();
    await expect(page.getByRole('region', { name: 'The pipeline, as a table' })).toContainText('Waiting, %');
  });

  await test.step('the whole run counts failures and checkpoints, and says what it assumes', async () => {
    await expect(page.getByTestId('run-panel')).toContainText('Days with failures and checkpoints');
    await page.getByTestId('explain-goodput').click();
    await expect(page.getByTestId('explained')).toContainText('Daly 2006');
    await page.getByTestId('input-restartSeconds').click();
    await expect(page.getByTestId('explained')).toContainText('MegaScale');
    await page.getByTestId('sheet-close').click();
    await expectAccessible(page);
  });
});
