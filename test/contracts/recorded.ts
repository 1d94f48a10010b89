/**
 * What users of Stonegate rely on, as files in `recorded/`. If a test differs from its file, a contract has
 * changed. `npm run contracts` records the files again; a change of a recorded file needs an entry in
 * CHANGELOG.md.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

const FOLDER = fileURLToPath(new URL('recorded', import.meta.url));

/** @param file in `recorded/` */
export function sameAsRecorded(t: Test, file: string, text: string): void {
  const path = join(FOLDER, file);
  if (process.env.RECORD_CONTRACTS === 'yes') {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  t.equal(
    text,
    readFileSync(path, 'utf8'),
    `equals recorded/${file}; after an intended change: npm run contracts, and an entry in CHANGELOG.md`,
  );
}

/** Indented JSON with a line feed at the end. */
export function asJSON(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
