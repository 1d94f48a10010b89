/** `stonegate explain` as it is typed; what it answers is told in e2e/explain. */
import t from 'tap';
import { explain } from '../../../src/cli/explain.ts';
import { printedIO } from '../../support/printed-io.ts';

async function run(...argv: string[]) {
  const { io, printed } = printedIO();
  const explainWith = () => Promise.reject(new Error('nothing is to be explained here'));
  const code = await explain(argv, io, { explainWith, env: {} });
  return { code, ...printed };
}

const HINTS: readonly (readonly [line: string, hint: RegExp])[] = [
  [
    'get pods -w',
    /^stonegate explain: unknown option '-w': to watch, write "watch" for "get": watch pods\n\nUsage/,
  ],
  ['get pods --watch', /^stonegate explain: unknown option '--watch': to watch, /],
  [
    'logs web -f',
    /^stonegate explain: unknown option '-f': to follow a log, write --path ".*\/log\?follow=true"/,
  ],
  ['logs web --follow', /^stonegate explain: unknown option '--follow': to follow a log, /],
];
for (const [line, stderr] of HINTS) {
  t.test(`${line}: explain says how it is written here`, async (t) => {
    t.match(await run(...line.split(' ')), { code: 2, stdout: '', stderr });
  });
}
