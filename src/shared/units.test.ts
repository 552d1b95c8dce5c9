import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formatBandwidth,
  formatBytes,
  formatCount,
  formatDays,
  formatFlopCount,
  formatFlops,
  formatIn,
  formatMoney,
  formatNumber,
  formatPercent,
  formatSeconds,
  GIB,
  parseCount,
} from './units.ts';

describe('parseCount', () => {
  test.each<[string, number | null]>([
    ['3072', 3072],
    ['3,072', 3072],
    ['3 072', 3072],
    ['3_072', 3072],
    [' 3072 ', 3072],
    ['1,234,567', 1_234_567],
    ['1.5T', 1.5e12],
    ['1.5 t', 1.5e12],
    ['450B tokens', 450e9],
    ['450e9', 450e9],
    ['450E+9', 450e9],
    ['15.6T', 15.6e12],
    ['2k', 2000],
    ['2 k', 2000],
    ['405B parameters', 405e9],
    ['7M params', 7e6],
    ['.5k', 500],
    ['0', 0],
    ['', null],
    ['-3', null],
    ['many', null],
    ['1.5.2', null],
    ['3x', null],
    ['1e400', null],
    ['NaN', null],
    // a comma that groups no thousands may be a decimal comma: not guessed
    ['1,5', null],
    ['1,5T', null],
    ['12,34', null],
    ['1,2345', null],
    ['3 0', null],
  ])('"%s"', (text, value) => {
    expect(parseCount(text)).toBe(value);
  });

  test('reads what formatCount prints, to the digits that it prints', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9e15 }), fc.integer({ min: 3, max: 8 }), (count, digits) => {
        const read = parseCount(formatCount(count, digits));
        expect(read).not.toBeNull();
        expect(Math.abs(read! - count)).toBeLessThanOrEqual(count * 0.51 * 10 ** (1 - digits));
      }),
    );
  });

  test('reads whole numbers below a million back exactly', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999 }), (count) => {
        expect(parseCount(formatCount(count))).toBe(count);
        expect(parseCount(String(count))).toBe(count);
      }),
    );
  });
});

test.each([
  [0, '0'],
  [1, '1'],
  [1234, '1,234'],
  [12.34, '12.3'],
  [0.12345, '0.123'],
  [0.001234, '0.00123'],
  [-12.34, '-12.3'],
  [999.6, '1,000'],
])('formatNumber(%d) = %s', (value, text) => {
  expect(formatNumber(value)).toBe(text);
});

test.each([
  [0, '0 s'],
  [1e-9, '1 ns'],
  [8e-6, '8 µs'],
  [0.0045, '4.5 ms'],
  [0.9999, '1,000 ms'],
  [1, '1 s'],
  [102.6, '103 s'],
  [119, '119 s'],
  [120, '2 min'],
  [5400, '90 min'],
  [7200, '2 h'],
  [86_400, '24 h'],
  [172_800, '2 days'],
  [-0.0045, '-4.5 ms'],
])('formatSeconds(%d) = %s', (seconds, text) => {
  expect(formatSeconds(seconds)).toBe(text);
});

test.each([
  [83.7, '83.7 days'],
  [1, '1 day'],
  [1.5, '1.5 days'],
  [0.5, '12 h'],
])('formatDays(%d) = %s', (days, text) => {
  expect(formatDays(days)).toBe(text);
});

test.each([
  [80 * GIB, '80 GiB'],
  [66.3 * GIB, '66.3 GiB'],
  [2048 * GIB, '2 TiB'],
  [2 ** 20, '1 MiB'],
  [0.5 * GIB, '0.5 GiB'],
  [0, '0 B'],
  [2, '2 B'],
  [51_200, '50 KiB'],
])('formatBytes(%d) = %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [405_853_388_800, '406B'],
  [1_008_000_000_000, '1.01T'],
  [7_500_000_000, '7.5B'],
  [125e6, '125M'],
  [3072, '3,072'],
  [999_999, '999,999'],
  [0, '0'],
])('formatCount(%d) = %s', (count, text) => {
  expect(formatCount(count)).toBe(text);
});

test.each([
  ['bandwidth', formatBandwidth(300e9), '300 GB/s'],
  ['FLOP/s of one', formatFlops(163e12), '163 TFLOP/s'],
  ['FLOP/s of many', formatFlops(502e15), '502 PFLOP/s'],
  ['FLOP/s of very many', formatFlops(16.2e18), '16.2 EFLOP/s'],
  ['FLOP', formatFlopCount(3.2e17), '320 PFLOP'],
  ['many FLOP', formatFlopCount(5.1e22), '51 ZFLOP'],
  ['a share', formatPercent(0.463), '46.3 %'],
  ['nothing of it', formatPercent(0), '0 %'],
  ['dollars', formatMoney(4_130_000, 'USD'), '$4.13M'],
  ['euros', formatMoney(820_000, 'EUR'), '€820k'],
  ['a price', formatMoney(2.35, 'USD'), '$2.35'],
  ['francs', formatMoney(95, 'CHF'), 'CHF 95'],
  ['some dollars', formatMoney(1234, 'USD'), '$1,234'],
])('%s: %s', (_, text, expected) => {
  expect(text).toBe(expected);
});

test.each([
  [8192, '', '8,192'],
  [1.008e12, '', '1.008T'],
  [0.5, 'fraction', '50 %'],
  [0.0712, 'points', '7.12 points'],
  [989.4e12, 'FLOP/s', '989 TFLOP/s'],
  [3.35e12, 'B/s', '3,350 GB/s'],
  [1.0261, 'ratio', '× 1.026'],
  [12_700_000, 'USD', '$12.7M'],
  [3.16e6, 'kWh', '3.16 GWh'],
  [840, 'kWh', '840 kWh'],
  [2.5, 'nats/token', '2.5 nats/token'],
])('%d %s reads %s', (value, unit, text) => {
  expect(formatIn(value, unit)).toBe(text);
});
