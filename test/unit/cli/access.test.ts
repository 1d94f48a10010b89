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
const NONE = { everywhere: [], cluster: [], namespaces: [], otherNamespaces: [] };

function rulesOf(status: object) {
  return {
    kind: 'SelfAccessRules',
    apiVersion: 'stonegate.dev/v1alpha1',
    status: { verb: '*', incomplete: false, ...NONE, ...status },
  };
}

const RULES = rulesOf({});

interface Given {
  readonly rules?: RecordedResponse;
}

async function run(t: Test, words: string, { rules = { body: RULES } }: Given = {}) {
  const server = await startRecordedServer(t, ({ path }) => {
    if (path.startsWith('/api/v1/namespaces/')) return path.endsWith('/gone') ? undefined : { body: {} };
    return rules;
  });
  const tokenFile = join(t.testdir({ token: 'the-token' }), 'token');
  const { io, printed } = printedIO();
  const address = ['--server', server.url, '--token-file', tokenFile];
  const code = await access([...words.split(' ').filter((word) => word !== ''), ...address], io, {});
  return { code, ...printed, asked: server.asked };
}

const VIEW = ['get', 'list', 'watch'];
const rule = (resources: string[], more: object = {}) => ({
  ...{ verbs: VIEW, apiGroups: [''], resources },
  ...more,
});
const inPlaces = (...namespaces: object[]) => ({ rules: { body: rulesOf({ namespaces }) } });

t.test('the table names each place once, and leaves out columns without a value', async (t) => {
  const { code, stdout, stderr, asked } = await run(
    t,
    '',
    inPlaces(
      { names: ['a', 'b', 'c', 'd', 'e'], rules: [rule(['pods', 'services'])] },
      { names: ['f'], rules: [rule(['deployments'], { apiGroups: ['apps'] })] },
    ),
  );
  t.equal(code, 0, stderr);
  t.equal(
    stdout,
    `NAMESPACES        KIND              GET  LIST  WATCH  CREATE  UPDATE  PATCH  DELETE
a,b,c and 2 more  pods              ✔    ✔     ✔
                  services          ✔    ✔     ✔
f                 deployments.apps  ✔    ✔     ✔
`,
  );
  t.same(
    asked.map(({ method, path, authorization }) => `${method} ${path} ${authorization}`),
    [`GET ${PATH} Bearer the-token`],
  );
});

t.test('other verbs and names have columns if a row has one', async (t) => {
  const { stdout } = await run(
    t,
    '',
    inPlaces({
      names: ['a'],
      rules: [rule(['pods']), rule(['secrets'], { verbs: ['get'], resourceNames: ['tls'] })],
    }),
  );
  t.match(stdout, /^NAMESPACES .* DELETE {2}NAMES\n/);
  t.match(stdout, /^ +secrets +\(✔\) +tls$/m);
});

t.test('rules that are not of single namespaces are said in words', async (t) => {
  const status = {
    everywhere: [rule(['events'])],
    cluster: [rule(['nodes'])],
    otherNamespaces: [rule(['pods'])],
  };
  const { stdout } = await run(t, '', { rules: { body: rulesOf(status) } });
  t.match(stdout, /^\(everywhere\) +events/m);
  t.match(stdout, /^\(cluster\) +events|^\(cluster\) +nodes/m);
  t.match(stdout, /^\(other namespaces\) +pods/m);
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

t.test('-o json and -o yaml print the rules', async (t) => {
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
  const { stderr } = await run(t, '', { rules: { body: rulesOf(status) } });
  t.match(stderr, /no\ufffd\[2J news/);
  const refused = await run(t, '', {
    rules: { status: 403, body: { kind: 'Status', message: 'a\u001b[2J' } },
  });
  t.equal(refused.code, 1);
  t.match(refused.stderr, /a\ufffd\[2J/);
});

t.test('an incomplete answer is printed, with the reason on standard error', async (t) => {
  const status = { incomplete: true, incompleteReason: 'no news of roles for 6 minutes' };
  const { code, stderr } = await run(t, '', { rules: { body: rulesOf(status) } });
  t.same([code, stderr], [0, 'stonegate access: this may be incomplete: no news of roles for 6 minutes\n']);
});

for (const [given, message] of [
  [{ rules: { status: 403, body: { message: 'no' } } }, /^stonegate access: no \(403\)\n$/],
  [{ rules: { status: 404, body: { message: 'not found' } } }, /^stonegate access: not found \(404\)\n$/],
  [{ rules: { body: { kind: 'Pod' } } }, /is no Stonegate/],
] as const)
  t.test(`${JSON.stringify(given)} is one line, with exit code 1`, async (t) => {
    const { code, stdout, stderr } = await run(t, '', given);
    t.same([code, stdout], [1, '']);
    t.match(stderr, message);
  });

for (const [line, message] of [
  ['pods', /^stonegate access: unexpected argument "pods"\n/],
  ['-o wide', /-o is table, json or yaml/],
  ['-A', /Unknown option '-A'/],
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
