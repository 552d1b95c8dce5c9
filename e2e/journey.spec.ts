import { readFile } from 'node:fs/promises';
import type { Page } from '@playwright/test';
import { examplesPlanned, expect, test } from './fixtures.ts';

/** Waits until no call, search or drawing is under way. */
async function settled(page: Page) {
  await expect(page.locator('#app')).toHaveAttribute('data-busy', 'false');
}

/** The input of a field: the element of that path itself, or the one inside its labelled block. */
const field = (page: Page, path: string) => {
  const at = `[data-field="${path}"]`;
  return page.locator(`input${at}, ${at} input`).first();
};

async function fill(page: Page, path: string, text: string) {
  await field(page, path).fill(text);
  await field(page, path).blur();
}

async function card(page: Page, name: string) {
  await page.getByTestId('nav-library').click();
  await settled(page);
  return page.getByTestId('scenario-card').filter({ has: page.getByText(name, { exact: true }) });
}

async function menu(page: Page, name: string, item: string) {
  await (await card(page, name)).getByTestId('card-menu').click();
  await page.getByTestId(`menu-${item}`).click();
}

/** What the page next hands out to be saved, whichever way its shell saves it. */
async function watchSavedFile(page: Page) {
  await page.evaluate(() => {
    const here = globalThis as typeof globalThis & { saved?: Promise<string> };
    const create = URL.createObjectURL.bind(URL);
    URL.createObjectURL = (content: Blob) => {
      here.saved = content.text();
      return create(content);
    };
  });
  return async () => {
    await page.waitForFunction(() => 'saved' in globalThis);
    return page.evaluate(() => (globalThis as typeof globalThis & { saved: Promise<string> }).saved);
  };
}

test('the first start shows three examples that are already planned', async ({ appPage: page }) => {
  await expect(page.getByTestId('scenario-card')).toHaveCount(3);
  await examplesPlanned(page);
});

test('from the question to a plan, with its parts and rules, and all of it after a reload', async ({
  appPage: page,
}) => {
  await settled(page);
  await test.step('the wizard asks, shows totals and names a fault at its field', async () => {
    await page.getByTestId('new-scenario').click();
    await fill(page, 'cluster.numAccelerators', '16');
    await expect(page.getByTestId('total-parameters')).toContainText('8.03B');
    for (const step of ['model', 'cluster', 'job', 'constraints']) {
      await page.getByTestId('wizard-next').click();
      await expect(page.getByTestId(`step-${step}`)).toBeVisible();
    }
    await page.getByTestId('step-nav-job').click();
    await fill(page, 'job.globalBatchSize', '-4');
    await settled(page);
    await expect(page.getByTestId('step-job')).toContainText('at least 1');
    await fill(page, 'job.globalBatchSize', '256');
    await settled(page);
    await expect(page.getByTestId('step-job')).not.toContainText('at least 1');
    // a name that somebody gives is kept, though another would follow from the fields
    await fill(page, 'name', 'A question of my own');
    await settled(page);
    await expect(field(page, 'name')).toHaveValue('A question of my own');
  });

  const answer = await test.step('the search ends in one sentence, charts and a table', async () => {
    await page.getByTestId('plan-it').click();
    await expect(page.getByTestId('answer')).toContainText(/TP \d+ · PP \d+ · (CP \d+ · )?DP \d+/);
    await settled(page);
    await expect(page.getByTestId('chart-frontier').locator('canvas').first()).toBeVisible();
    await expect(page.getByTestId('chart-heat').locator('canvas').first()).toBeVisible();
    await expect(page.getByTestId('table-row').first()).toBeVisible();
    return (await page.getByTestId('answer').textContent()) ?? '';
  });

  await test.step('a plan opens into its parts and a broken split into its rules', async () => {
    await page.getByTestId('open-best').click();
    await settled(page);
    await expect(page.getByTestId('number-mfu')).toContainText('%');
    await expect(page.getByTestId('chart-waterfall').locator('canvas').first()).toBeVisible();
    await expect(page.getByTestId('chart-memory').locator('canvas').first()).toBeVisible();
    await page.getByTestId('edit-tp').fill('3');
    await page.getByTestId('edit-tp').blur();
    await settled(page);
    await expect(page.getByTestId('violations')).toContainText('heads do not divide over tp = 3');
    await expect(page.getByTestId('violations')).toContainText('does not divide the 16 accelerators');
    await page.getByTestId('use-nearest').click();
    await settled(page);
    await expect(page.getByTestId('violations')).toHaveCount(0);
    await expect(page.getByTestId('number-step')).toBeVisible();
  });

  await test.step('everything is there after a reload', async () => {
    await page.getByTestId('nav-plans').click();
    await page.reload();
    await settled(page);
    await expect(page.getByTestId('answer')).toHaveText(answer);
  });
});

test('a long search shows how far it is and can be cancelled', async ({ appPage: page }) => {
  await settled(page);
  await page.getByTestId('new-scenario').click();
  // a cluster, a depth and a batch with very many divisors: most of a million plans
  await fill(page, 'cluster.numAccelerators', '720720');
  await page.getByTestId('step-nav-model').click();
  await fill(page, 'model.numLayers', '5040');
  await page.getByTestId('step-nav-job').click();
  await fill(page, 'job.globalBatchSize', '720720');
  await settled(page);
  await page.getByTestId('plan-it').click();
  await expect(page.getByTestId('search-progress')).toBeVisible();
  await expect(page.getByTestId('search-covered')).toContainText(/[1-9]/);
  await page.getByTestId('search-cancel').click();
  await expect(page.getByTestId('search-cancelled')).toBeVisible();
  await settled(page);
  // the application goes on: another scenario still plans
  await (await card(page, 'Llama 3.1 8B on 8 H100')).getByTestId('card-open').click();
  await page.getByTestId('search-again').click();
  await expect(page.getByTestId('answer')).toContainText('TP');
});

test('scenario files go out and come back; a bad one is refused and nothing is lost', async ({
  appPage: page,
  shell,
}) => {
  await examplesPlanned(page); // an exported file then holds the plans too
  await settled(page);
  const exported = await test.step('export', async () => {
    const saved = await watchSavedFile(page);
    const download = shell === 'http' ? page.waitForEvent('download') : undefined;
    await menu(page, 'GPT 1T on 3,072 A100', 'export');
    // a browser's own download; a window of Electron asks where to, which a test can't answer
    if (download) expect(await readFile(await (await download).path(), 'utf8')).toBe(await saved());
    return saved();
  });
  expect(JSON.parse(exported)).toMatchObject({ format: 'trainyard/scenario', version: 1 });

  await test.step('duplicate, rename, delete and undo', async () => {
    await menu(page, 'GPT 1T on 3,072 A100', 'duplicate');
    await expect(page.getByTestId('scenario-card')).toHaveCount(4);
    await settled(page);
    await menu(page, 'GPT 1T on 3,072 A100', 'delete');
    await expect(page.getByTestId('scenario-card')).toHaveCount(3);
    await page.getByTestId('toast-action').last().click();
    await expect(page.getByTestId('scenario-card')).toHaveCount(4);
  });

  const importFile = async (name: string, text: string) => {
    await page.getByTestId('nav-library').click();
    const chooser = page.waitForEvent('filechooser');
    await page.getByTestId('import').click();
    await (await chooser).setFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
  };
  await test.step('half a file and a newer file are refused in words', async () => {
    await importFile('half.trainyard', exported.slice(0, exported.length / 2));
    await expect(page.getByTestId('toast-danger').last()).toContainText('half.trainyard is not valid JSON');
    await importFile('newer.trainyard', JSON.stringify({ ...JSON.parse(exported), version: 99 }));
    await expect(page.getByTestId('toast-danger').last()).toContainText('Update Trainyard');
    await page.getByTestId('nav-library').click();
    await expect(page.getByTestId('scenario-card')).toHaveCount(4);
  });
  await test.step('import', async () => {
    await importFile('mine.trainyard', JSON.stringify({ ...JSON.parse(exported), name: 'My trillion' }));
    await expect(page.getByTestId('answer')).toContainText('TP 8 · PP 32 · DP 12');
    await expect(await card(page, 'My trillion')).toHaveCount(1);
  });
});
