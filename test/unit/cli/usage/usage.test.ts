/** `stonegate usage` on files as operators have them: rotated, overlapping, cut off, and with other lines. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { usage } from '../../../../src/cli/usage/usage.ts';
import { printedBy } from '../../../support/printed-io.ts';

interface Facts {
  readonly process?: string;
  readonly sequence: number;
  readonly at: string;
  readonly to?: string;
  readonly tenant?: string;
  readonly project?: string;
  readonly usage?: Record<string, number>;
  readonly final?: true;
}

function line({ process = 'p1', sequence, at, to, tenant, project = 'web', usage = {}, final }: Facts) {
  const end = new Date(Date.parse(at) + 60_000).toISOString();
  return JSON.stringify({
    apiVersion: 'stonegate.dev/v1alpha1',
    kind: tenant === undefined ? 'UsageHeartbeat' : 'UsageRecord',
    id: `${process}-${sequence}`,
    ...{ process, sequence, from: at, to: to ?? end },
    ...(tenant !== undefined && { tenant, project, usage }),
    ...(final && { final }),
  });
}

/** Writes the lines of each file, and runs the command with these arguments. */
async function run(t: Test, files: readonly (readonly string[])[], ...words: readonly string[]) {
  const folder = t.testdir({});
  const names = files.map((lines, at) => {
    const name = join(folder, `${at}.jsonl`);
    writeFileSync(name, `${lines.join('\n')}\n`);
    return name;
  });
  const { code, stdout, stderr } = await printedBy(usage, [...names, ...words]);
  return { code, stdout, stderr: stderr.trimEnd().split('\n').filter(Boolean) };
}

const NOV_1 = '2026-11-01T00:00:00.000Z';
const FIRST = line({ sequence: 1, at: NOV_1, tenant: 'acme', usage: { getRequests: 2, sentBytes: 2 ** 30 } });
const SECOND = line({ sequence: 2, at: NOV_1, tenant: 'globex', usage: { listRequests: 1 } });
const NEXT_DAY = line({
  ...{ sequence: 3, at: '2026-11-02T00:00:00.000Z', tenant: 'acme', project: 'db' },
  usage: { connectRequests: 1, streamSeconds: 5_400 },
});
const END = line({ sequence: 4, at: '2026-11-02T00:01:00.000Z', final: true });

t.test('the table has units that are easy to read', async (t) => {
  const { stdout, code } = await run(t, [[FIRST, SECOND, NEXT_DAY, END]]);
  t.equal(code, 0);
  t.equal(
    stdout,
    `TENANT  REQUESTS  SENT GIB  STREAM HOURS
acme    3         1         1.500
globex  1         0         0
`,
  );
});

t.test('usage by project is printed as CSV for a spreadsheet', async (t) => {
  const { stdout } = await run(t, [[FIRST, SECOND, NEXT_DAY, END]], '--by', 'project', '-o', 'csv');
  const [header = '', ...rows] = stdout.split('\r\n');
  t.match(
    header,
    /^tenant,project,getRequests,.*,receivedBytes,sentBytes,streamSeconds,requestedCpuSeconds,/,
  );
  t.same(rows.slice(0, -1), [
    'acme,db,0,0,0,0,1,0,0,0,5400,0,0,0,0',
    'acme,web,2,0,0,0,0,0,0,1073741824,0,0,0,0,0',
    'globex,web,0,1,0,0,0,0,0,0,0,0,0,0,0',
  ]);
});

t.test('the records of one day are selected and grouped by day', async (t) => {
  const words = ['--from', '2026-11-02', '--to', '2026-11-03', '--by', 'day', '-o', 'json'];
  const { stdout } = await run(t, [[FIRST, SECOND, NEXT_DAY, END]], ...words);
  const { rows, gaps } = JSON.parse(stdout);
  t.match(rows, [{ day: '2026-11-02', usage: { connectRequests: 1, getRequests: 0 } }]);
  t.equal(rows.length, 1);
  t.same(gaps, []);
});

t.test('D540 files may come in any order, twice, and with lines of other logs', async (t) => {
  const audit = '{"kind":"Event","requestURI":"/api?x=\\"kind\\":\\"UsageRecord"}';
  const { stdout, stderr } = await run(t, [
    [audit, NEXT_DAY, END],
    [FIRST, SECOND, 'x'],
    [SECOND, NEXT_DAY],
  ]);
  t.match(stdout, /^acme +3 /m);
  t.match(stdout, /^globex +1 /m);
  t.same(stderr, []);
});

t.test('missing records are reported', async (t) => {
  const at = (minute: string) => `2026-11-01T10:${minute}:00.000Z`;
  const lost = [3, 6].map((sequence) => line({ sequence, at: at(`0${sequence}`) }));
  const killed = line({ process: 'p2', sequence: 1, at: at('10') });
  const rotated = line({ process: 'p3', sequence: 8, at: at('20'), final: true });
  const torn = FIRST.slice(0, -20);
  const { code, stderr } = await run(t, [[...lost, killed, torn, rotated]]);
  t.equal(code, 0);
  t.same(stderr, [
    'stonegate usage: 1 lines are no whole records',
    'stonegate usage: the first 2 lines of process p1, before 2026-11-01T10:04:00.000Z, are missing',
    'stonegate usage: 2 of the lines of process p1 between 2026-11-01T10:03:00.000Z and 2026-11-01T10:07:00.000Z are missing',
    'stonegate usage: process p1 was killed: what it did after 2026-11-01T10:07:00.000Z is missing',
    'stonegate usage: process p2 was killed: what it did after 2026-11-01T10:11:00.000Z is missing',
    'stonegate usage: the first 7 lines of process p3, before 2026-11-01T10:21:00.000Z, are missing',
  ]);
  const later = await run(t, [[...lost, killed, rotated]], '--from', '2026-11-01T10:21:00Z');
  t.same(later.stderr, [], 'records that are missing at another time are not reported');
});

t.test('a file without records is reported', async (t) => {
  const { code, stderr } = await run(t, [['# Stonegate']]);
  t.equal(code, 0);
  t.same(stderr, ['stonegate usage: there are no usage records in what was read']);
});

t.test('a usage error is refused', async (t) => {
  for (const [mistake, ...words] of [
    ['which files?'],
    ['--output is table, csv, json', 'a', '-o', 'yaml'],
    ['--from is a day or a time', 'a', '--from', 'yesterday'],
    ['--from is before --to', 'a', '--from', '2026-11-02', '--to', '2026-11-01'],
  ] as const) {
    const { code, stderr } = await run(t, [], ...words);
    t.equal(code, 2);
    t.match(stderr[0], mistake);
  }
  const { code, stderr } = await run(t, [], 'no-such-file');
  t.equal(code, 1);
  t.match(stderr[0], /no-such-file/);
});
