/**
 * docs/reference/conformance.md: cases from other projects' tests, advisories and users. A case counts as
 * tested if a test has its id in its name, so the page is generated from the tests.
 */
import { globSync, readFileSync } from 'node:fs';

const CASES = ['test/conformance/cases.jsonl', 'test/conformance/access-cases.jsonl'];
const REASONS = 'test/conformance/reasons.json';
export const PAGE = 'docs/reference/conformance.md';

interface Case {
  readonly id: string;
  readonly area: string;
  readonly given: string;
  readonly expect: string;
}

interface Reasons {
  readonly doesNotApply: Readonly<Record<string, readonly string[]>>;
  readonly otherwise: Readonly<Record<string, readonly string[]>>;
}

export interface Conformance {
  readonly cases: readonly Case[];
  /** Case id → the files whose tests name it. */
  readonly tested: ReadonlyMap<string, readonly string[]>;
  readonly doesNotApply: ReadonlyMap<string, string>;
  /** Case id → how Stonegate intentionally differs from the expectation. */
  readonly otherwise: ReadonlyMap<string, string>;
}

export function readConformance(): Conformance {
  const cases = CASES.flatMap((file) => readFileSync(file, 'utf8').trim().split('\n')).map(
    (line): Case => JSON.parse(line),
  );
  const reasons: Reasons = JSON.parse(readFileSync(REASONS, 'utf8'));
  return {
    cases,
    tested: testedCases(),
    doesNotApply: byCase(reasons.doesNotApply),
    otherwise: byCase(reasons.otherwise),
  };
}

/** Case ids at the start of a test's name, or alone in a table of tests. */
const NAMED = /\btest\(\s*['"`]((?:[CD]\d{3}[,\s]*)+)|['"`]([CD]\d{3})['"`]/g;

function testedCases(): Map<string, string[]> {
  const tested = new Map<string, string[]>();
  for (const file of globSync('test/**/*.test.ts').sort()) {
    for (const [, named = '', alone = ''] of readFileSync(file, 'utf8').matchAll(NAMED)) {
      for (const id of (named + alone).match(/[CD]\d{3}/g) ?? []) {
        const files = tested.get(id) ?? [];
        if (!files.includes(file)) tested.set(id, [...files, file]);
      }
    }
  }
  return tested;
}

function byCase(reasons: Readonly<Record<string, readonly string[]>>): Map<string, string> {
  return new Map(Object.entries(reasons).flatMap(([reason, ids]) => ids.map((id) => [id, reason] as const)));
}

export function conformancePage({ cases, tested, doesNotApply, otherwise }: Conformance): string {
  const rows = cases.map(({ id, area, given, expect }) => {
    const files = tested.get(id);
    const state =
      files === undefined
        ? `does not apply: ${doesNotApply.get(id)}`
        : `${otherwise.has(id) ? `on purpose otherwise (${otherwise.get(id)}), ` : ''}tested: ${files.map((file) => `[${file.replace(/^test\/|\.test\.ts$/g, '')}](../../${file})`).join(', ')}`;
    return `| ${id} | ${area} | ${cell(given)} | ${cell(expect)} | ${state} |`;
  });
  return `# Conformance

What the tests, advisories and users of other proxies have taught, case by case. A case is tested where a test
has its id in its name: \`${tested.size}\` are, \`${doesNotApply.size}\` do not apply.
Where Stonegate does something else than was expected of others, the last column says so and why; "peer" is the project
the case comes from.
This page is written by \`npm run conformance\`; a test holds it to the tests.

| id | area | given | expected | here |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
}

function cell(text: string): string {
  return text
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll('\t', '⇥')
    .replaceAll('*', '\\*')
    .replace(/\s+/g, ' ');
}
