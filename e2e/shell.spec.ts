import { expectAccessible } from './accessibility.ts';
import { expect, test } from './fixtures.ts';

test('the page opens and can be used with assistive technology', async ({ appPage: page }) => {
  await expect(page).toHaveTitle(/Trainyard/);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expectAccessible(page);
});

test.describe('the page is shut in', () => {
  test.use({ expectedErrors: ['Content Security Policy', 'violates the following', 'Refused to'] });

  test('it reaches neither Node nor another site, and runs no text as code', async ({ appPage: page }) => {
    const found = await page.evaluate(async () => ({
      node: ['require', 'process', 'module', 'Buffer'].filter((name) => name in globalThis),
      fetched: await fetch('https://example.org/').then(
        () => 'went out',
        () => 'blocked',
      ),
      inline: (() => {
        const script = document.createElement('script');
        script.textContent = 'globalThis.ranInline = true';
        document.head.append(script);
        return 'ranInline' in globalThis;
      })(),
    }));
    expect(found).toEqual({ node: [], fetched: 'blocked', inline: false });
  });
});
