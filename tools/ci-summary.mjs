// Adds up what vitest and Playwright report, into the one line that a machine reads.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './paths.mjs';

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Count
 */

/**
 * @param {string} name file below reports/
 * @param {(report: any) => Count} count
 * @returns {Count}
 */
function countIn(name, count) {
  try {
    return count(JSON.parse(readFileSync(path.join(root, 'reports', name), 'utf8')));
  } catch {
    console.error(`reports/${name} is missing or cut short: its tests did not run to their end.`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

/** @param {any} report */
const vitest = (report) => {
  // a file that fails to load holds no tests, so it is counted itself
  const broken = report.testResults.filter(
    (/** @type {any} */ f) => f.status === 'failed' && f.assertionResults.length === 0,
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
};

/** @param {any} report */
const playwright = ({ stats, errors }) => ({
  passed: stats.expected + stats.flaky,
  failed: stats.unexpected + errors.length,
  skipped: stats.skipped,
});

/**
 * @param {{ unit: boolean, e2e: boolean }} ran which reports there must be
 * @returns {Count}
 */
export function countTests(ran) {
  const counts = [
    ...(ran.unit ? [countIn('vitest.json', vitest)] : []),
    ...(ran.e2e ? [countIn('playwright.json', playwright)] : []),
  ];
  const sum = (/** @type {keyof Count} */ key) => counts.reduce((total, count) => total + count[key], 0);
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}
