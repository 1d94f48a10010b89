/**
 * `stonegate access` as it is typed: what it asks, what it prints, and which mistakes it names.
 */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { access } from '../../../src/cli/access.ts';
import { printedIO } from '../../support/printed-io.ts';
import { type RecordedResponse, startRecordedServer } from '../../support/recorded-server.ts';

const PATH = '/apis/stonegate.dev/v1alpha1/selfaccessrules';
const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
const RULES = {
  kind: 'SelfAccessRules',
  apiVersion: 'stonegate.dev/v1alpha1',
  status: { incomplete: false },
};

function tableOf(...rows: readonly (readonly string[])[]) {
  const names = ['Where', 'Kind', ...VERBS, 'Other', 'Names'];
  return {
    kind: 'Table',
    columnDefinitions: names.map((name) => ({ name })),
    rows: rows.map((cells) => ({ cells })),
  };
}

interface Given {
  readonly rules?: RecordedResponse;
  readonly table?: unknown;
}

async function run(t: Test, words: string, { rules = { body: RULES }, table = tableOf() }: Given = {}) {
  const server = await startRecordedServer(t, ({ path, accept }) => {
    if (path.startsWith('/api/v1/namespaces/')) return path.endsWith('/gone') ? undefined : { body: {} };
    return accept.includes('as=Table') ? { body: table } : rules;
  });
  const tokenFile = join(t.testdir({ token: 'the-token' }), 'token');
  const { io, printed } = printedIO();
  const address = ['--server', server.url, '--token-file', tokenFile];
  const code = await access([...words.split(' ').filter((word) => word !== ''), ...address], io, {});
  return { code, ...printed, asked: server.asked };
}

const YES = ['✔', '✔', '✔', '', '', '', ''];
const NAMED = ['(✔)', '', '', '', '', '', ''];

t.test('the table names each place once, and leaves out columns without a value', async (t) => {
  const table = tableOf(
    ['a, b', 'pods', ...YES, '', ''],
    ['a, b', 'services', ...YES, '', ''],
    ['c', 'pods', ...YES, '', ''],
  );
  const { code, stdout, stderr, asked } = await run(t, '', { table });
  t.equal(code, 0, stderr);
  t.equal(
    stdout,
    `WHERE  KIND      GET  LIST  WATCH  CREATE  UPDATE  PATCH  DELETE
a, b   pods      ✔    ✔     ✔
       services  ✔    ✔     ✔
c      pods      ✔    ✔     ✔
`,
  );
  t.same(
    asked.map(({ method, path, authorization }) => `${method} ${path} ${authorization}`),
    [`GET ${PATH} Bearer the-token`, `GET ${PATH} Bearer the-token`],
  );
});

t.test('other verbs and names have columns if a row has one', async (t) => {
  const table = tableOf(['a', 'pods', ...YES, '', ''], ['a', 'secrets', ...NAMED, '', 'tls']);
  const { stdout } = await run(t, '', { table });
  t.match(stdout, /^WHERE .* DELETE {2}NAMES\n/);
  t.match(stdout, /^ +secrets +\(✔\) +tls$/m);
});

t.test('-n asks about one namespace, whatever its name', async (t) => {
  const { asked } = await run(t, '-n a&verb=*');
  t.same(
    new Set(asked.map(({ path }) => path)),
    new Set([`${PATH}?namespace=a%26verb%3D*`, '/api/v1/namespaces/a%26verb%3D*']),
  );
});

t.test('a user who may do nothing is told so', async (t) => {
  t.match(await run(t, ''), { code: 0, stdout: 'You may do nothing here.\n', stderr: '' });
});

t.test('-o json and -o yaml print the rules, and no table is asked for', async (t) => {
  for (const [format, read] of [
    ['json', (text: string): unknown => JSON.parse(text)],
    ['yaml', (text: string): unknown => parse(text)],
  ] as const) {
    const { stdout, asked } = await run(t, `-o ${format}`);
    t.strictSame(read(stdout), RULES);
    t.equal(asked.length, 1);
  }
});

t.test('what the server says is printed without control characters', async (t) => {
  const status = { incomplete: true, incompleteReason: 'no\u001b[2J news' };
  const { stderr } = await run(t, '', { rules: { body: { ...RULES, status } } });
  t.match(stderr, /no\ufffd\[2J news/);
  const refused = await run(t, '', {
    rules: { status: 403, body: { kind: 'Status', message: 'a\u001b[2J' } },
  });
  t.equal(refused.code, 1);
  t.match(refused.stderr, /a\ufffd\[2J/);
});

t.test('an incomplete answer is printed, with the reason on standard error', async (t) => {
  const status = { incomplete: true, incompleteReason: 'no news of roles for 6 minutes' };
  const { code, stderr } = await run(t, '', { rules: { body: { ...RULES, status } } });
  t.same([code, stderr], [0, 'stonegate access: this may be incomplete: no news of roles for 6 minutes\n']);
});

for (const [given, message] of [
  [{ rules: { status: 403, body: { message: 'no' } } }, /^stonegate access: no \(403\)\n$/],
  [{ rules: { status: 404, body: { message: 'not found' } } }, /^stonegate access: not found \(404\)\n$/],
  [
    { rules: { body: { kind: 'Pod' } } },
    /it answers no questions about access; its operator enables the RBAC index/,
  ],
  [{ table: { kind: 'Status' } }, /^stonegate access: no table: /],
] as const)
  t.test(`${JSON.stringify(given)} is one line, with exit code 1`, async (t) => {
    const { code, stdout, stderr } = await run(t, '', given);
    t.same([code, stdout], [1, '']);
    t.match(stderr, message);
  });

for (const [line, message] of [
  ['pods', /^stonegate access: unexpected argument "pods"\n/],
  ['-o wide', /-o is table, json or yaml/],
  ['-A', /unknown option '-A'/],
] as const)
  t.test(`access ${line} is a mistake`, async (t) => {
    const { code, stdout, stderr, asked } = await run(t, line);
    t.same([code, stdout, asked.length], [2, '', 0]);
    t.match(stderr, message);
  });

t.test('a namespace that does not exist is named: what is allowed in every namespace is shown', async (t) => {
  t.match(await run(t, '-n gone'), { code: 0, stderr: 'stonegate access: there is no namespace "gone"\n' });
});

t.test('--as asks as another user', async (t) => {
  const { asked } = await run(t, '--as zoë --as-uid 7 --as-group a --as-group b');
  t.strictSame(asked[0]?.impersonated, [
    ['impersonate-user', Buffer.from('zoë').toString('latin1')],
    ['impersonate-uid', '7'],
    ['impersonate-group', 'a'],
    ['impersonate-group', 'b'],
  ]);
  t.match(await run(t, '--as-group a'), { code: 2, stderr: /--as-uid and --as-group want --as/, asked: [] });
});
