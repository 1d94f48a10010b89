/**
 * docs/tenants.md: which of its commands run in which tenancy mode, and a runner for them as its readers
 * would.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { eventually } from './eventually.ts';
import { missingLine, readBlocks, readersShell, readFiles, runShell } from './page-commands.ts';

export const PAGE = 'docs/tenants.md';

/** The comment before a block: its mode, whether it is repeated until it succeeds, and whether it fails. */
export const MARK = /^run in (shared|arktos)(, eventually)?(, fails)?$/;

export interface Reader {
  readonly mode: 'shared' | 'arktos';
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Text of the page → its replacement here, such as the address of the server. */
  readonly replace?: Readonly<Record<string, string>>;
}

/** Runs the page's blocks for the mode in order, each in a separate shell. */
export async function followPage(t: Test, { mode, folder, env, replace = {} }: Reader) {
  const local = (text: string) =>
    Object.entries(replace).reduce((replaced, [from, to]) => replaced.replaceAll(from, to), text);
  const shell = readersShell(folder);
  const reader = { folder, env: { ...shell.env, ...env } };
  for (const [name, content] of readFiles(PAGE)) writeFileSync(join(folder, name), local(content));
  for (const { mark, commands, promised } of readBlocks(PAGE)) {
    const [, where, repeated, fails] = MARK.exec(mark) ?? [];
    if (where !== mode) continue;
    const script = local(fails === undefined ? commands : `if ( ${commands} ); then exit 3; fi`);
    const expected = promised.map(local);
    let result = await runShell(reader, script);
    const isSo = () => result.code === 0 && missingLine(result.output, expected) === undefined;
    if (repeated !== undefined && !isSo())
      await eventually(async () => {
        result = await runShell(reader, script);
        return isSo();
      });
    t.equal(result.code, 0, commands, { output: result.output });
    t.equal(missingLine(result.output, expected), undefined, commands, { output: result.output });
  }
}
