/** The colours that charts draw with, read from the page's tokens so that both themes have one source. */

export interface ChartTheme {
  text: string;
  muted: string;
  surface: string;
  sunken: string;
  border: string;
  grid: string;
  hatch: string;
  accent: string;
  ok: string;
  warn: string;
  danger: string;
  /** Told apart with any kind of colour vision. */
  categories: readonly string[];
  /** From little to much. */
  sequence: readonly string[];
  /** For ordered classes, first to last. */
  order: readonly string[];
  font: string;
  /** False where the reader asked for less motion. */
  isAnimated: boolean;
}

/**
 * Reads the tokens as colours that a canvas understands: the browser resolves light-dark() and variables. They are on
 * the page, not in a ref: `_version` is what says to read them again.
 */
export function readTheme(_version: number, root: HTMLElement = document.documentElement): ChartTheme {
  const probe = document.createElement('span');
  probe.hidden = true;
  root.append(probe);
  const color = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const ramp = (name: string, length: number) => Array.from({ length }, (_, index) => color(`${name}-${index + 1}`));
  const theme: ChartTheme = {
    text: color('text'),
    muted: color('muted'),
    surface: color('surface'),
    sunken: color('sunken'),
    border: color('border'),
    grid: color('grid'),
    hatch: color('hatch'),
    accent: color('accent-text'),
    ok: color('ok'),
    warn: color('warn'),
    danger: color('danger'),
    categories: ramp('cat', 6),
    sequence: ramp('seq', 6),
    order: ramp('ord', 6),
    font: getComputedStyle(document.body).fontFamily,
    isAnimated: !matchMedia('(prefers-reduced-motion: reduce)').matches,
  };
  probe.remove();
  return theme;
}

type Rgb = readonly [number, number, number];

/** Reads `#rrggbb` and `rgb(r g b)` or `rgb(r, g, b)`; anything else is black. */
export function parseColor(text: string): Rgb {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text);
  if (hex !== null) return [hex[1], hex[2], hex[3]].map((part) => Number.parseInt(part ?? '0', 16)) as unknown as Rgb;
  const numbers = (text.match(/[\d.]+/g) ?? []).map(Number);
  return [numbers[0] ?? 0, numbers[1] ?? 0, numbers[2] ?? 0];
}

/** The colour at `position` (0 to 1) of a ramp, between its two nearest stops. */
export function colorAt(ramp: readonly string[], position: number): string {
  const place = Math.max(0, Math.min(1, position)) * (ramp.length - 1);
  const low = Math.floor(place);
  const [from, to] = [
    parseColor(ramp[low] ?? '#000000'),
    parseColor(ramp[Math.min(low + 1, ramp.length - 1)] ?? '#000000'),
  ];
  const mixed = from.map((value, index) => Math.round(value + (place - low) * ((to[index] ?? value) - value)));
  return `rgb(${mixed.join(', ')})`;
}

/** Black or white, whichever reads better on `color` (WCAG relative luminance). */
export function readableOn(color: string): string {
  const [r, g, b] = parseColor(color).map((part) => {
    const share = part / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return (luminance + 0.05) ** 2 > 1.05 * 0.05 ? '#101216' : '#ffffff';
}
