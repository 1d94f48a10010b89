/**
 * The command line of `stonegate access`: what it requests, what it prints, and which mistakes it names.
 */
import t, { type Test } from 'tap';
import { access } from '../../../src/cli/access.ts';
import { askCommand } from '../../support/ask-command.ts';
import type { RecordedResponse } from '../../support/recorded-server.ts';

const PATH = '/apis/stonegate.dev/v1alpha1/selfaccessrules';
const NONE = { everywhere: [], cluster: [], namespaces: [], otherNamespaces: [] };

function rulesOf(status: object) {
  return {
    kind: 'SelfAccessRules',
    apiVersion: 'stonegate.dev/v1alpha1',
    status: { verb: '*', incomplete: false, ...NONE, ...status },
  };
}

const run = (t: Test, words: string, rules: RecordedResponse = { body: rulesOf({}) }) =>
  askCommand(t, access, words.split(' ').filter(Boolean), () => rules);

const VIEW = ['get', 'list', 'watch'];
const rule = (resources: string[], more: object = {}) => ({
  ...{ verbs: VIEW, apiGroups: [''], resources },
  ...more,
});
const inPlaces = (...namespaces: object[]) => ({ body: rulesOf({ namespaces }) });

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

t.test('other verbs and names have columns if any row has one, and other scopes are named', async (t) => {
  const status = {
    everywhere: [rule(['events'])],
    cluster: [rule(['nodes'])],
    otherNamespaces: [rule(['pods'])],
    namespaces: [{ names: ['a'], rules: [rule(['secrets'], { verbs: ['get'], resourceNames: ['tls'] })] }],
  };
  const { stdout } = await run(t, '', { body: rulesOf(status) });
  t.match(stdout, /^NAMESPACES .* DELETE {2}NAMES\n/);
  t.match(stdout, /^ *a? +.*secrets +\(✔\) +tls$/m);
  for (const place of ['everywhere', 'cluster', 'other namespaces'])
    t.match(stdout, new RegExp(`^\\(${place}\\) `, 'm'));
});

t.test('-n asks about one namespace, and escapes its name', async (t) => {
  const { asked } = await run(t, '-n a&verb=*');
  t.match(asked, [{ path: `${PATH}?namespace=a%26verb%3D*` }]);
});

t.test('a user who has no rights is told so', async (t) =>
  t.match(await run(t, ''), { code: 0, stdout: 'You may do nothing here.\n', stderr: '' }),
);

t.test('an incomplete response is printed, with the reason on standard error', async (t) => {
  const status = { incomplete: true, incompleteReason: 'no\u001b[2J news' };
  t.match(await run(t, '', { body: rulesOf(status) }), {
    code: 0,
    stderr: 'stonegate access: this may be incomplete: no\ufffd[2J news\n',
  });
});

t.test('--as asks as another user', async (t) => {
  const { asked } = await run(t, '--as zoë --as-uid 7 --as-group a --as-group b');
  t.strictSame(asked[0]?.impersonated, [
    ['impersonate-user', Buffer.from('zoë').toString('latin1')],
    ['impersonate-uid', '7'],
    ['impersonate-group', 'a'],
    ['impersonate-group', 'b'],
  ]);
  t.match(await run(t, '--as-group a'), { code: 2, stderr: /--as-uid and --as-group need --as/, asked: [] });
});
