import { expect, test } from './fixtures.ts';

test('a printed address lets one browser in, once, and a new one can be asked for', async ({
  door,
  appPage,
  chrome,
}) => {
  await appPage.goto(door!.url); // the browser that is in already may reload it
  await expect(appPage).toHaveURL(/^http:\/\/127\.0\.0\.1:\d+\/(#.*)?$/);

  const stranger = await chrome!.newContext();
  const page = await stranger.newPage();
  expect((await page.goto(door!.url))?.status()).toBe(403);
  await expect(page.getByText('Press Enter where Trainyard runs')).toBeVisible();
  expect((await page.goto(await door!.askForUrl()))?.status()).toBe(200);
  await stranger.close();
});
