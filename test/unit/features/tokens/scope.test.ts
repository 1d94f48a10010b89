/** What the scopes of access tokens allow, by examples; properties say what holds for all of them. */
import t from 'tap';
import { scopeNotes, scopeProblem } from '../../../../src/features/tokens/scope.ts';
import { longestLife, tokensSchema } from '../../../../src/features/tokens/tokens-configuration.ts';
import type { Question } from '../../../../src/kubernetes/authorizer-attributes.ts';
import { createTenantNamespaces } from '../../../../src/rbac/tenant-namespaces.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { rule } from '../../../support/policy-rule.ts';
import { namespace, rbacObjects } from '../../../support/rbac-objects.ts';
import { eachRow, linesOf } from '../../../support/rows.ts';
import { tokenScope } from '../../../support/token-scope.ts';

/** @param text such as `get /version`, `create pods/exec web/one` and `list teams.stonegate.dev` */
function questionOf(text: string): Question {
  const [verb = '', what = '', place = ''] = text.split(' ');
  if (what.startsWith('/')) return { verb, path: what };
  const [kind = '', subresource = ''] = what.split('/');
  const [resource = '', ...group] = kind.split('.');
  const [where = '', name = ''] = place.split('/');
  return { verb, apiGroup: group.join('.'), resource, subresource, namespace: where, name, tenant: '' };
}

const RULES = [{ ...rule('get', 'pods'), namespaces: ['web'] }];
const written = (verb: string) => [{ ...rule(verb, 'pods'), namespaces: ['web'] }];

t.test('each scope allows what its name says, in its namespaces alone', async (t) => {
  /** Scopes, requests that they allow, and requests that they refuse. */
  await eachRow(
    `
    userinfo | create selfsubjectaccessreviews.authorization.k8s.io, create selfsubjectrulesreviews.authorization.k8s.io
    userinfo | create selfsubjectreviews.authentication.k8s.io, get selfidentity.stonegate.dev
    userinfo | list selfidentity.stonegate.dev, list selfaccessrules.stonegate.dev
    userinfo | get /version, head /version | get /metrics, post /version, get pods web, list accesstokens.stonegate.dev
    userinfo read | get /metrics, list pods web, list pods, create peoplesearches.stonegate.dev | post /metrics, get /logs/a
    read | get nodes web/one | create pods web, get secrets web, get nodes/proxy /one
    session read | post /metrics, get /logs/a, create pods web, get nodes /one | get secrets web
    namespace/web/read | get pods web | get pods lab, get pods, get /metrics, create peoplesearches.stonegate.dev
    namespace/web/read | get namespaces default/web, get namespaces web/* | get namespaces web/lab, get nodes web/one
    namespace/web/control | delete pods web, get widgets web | create pods web, delete pods lab
    namespace/web/edit | create pods web | bind roles.rbac.authorization.k8s.io web, eat pods web
    namespace/web/manage | eat pods web | get secrets web
    namespace/web/manage +rbac | delete namespaces /web | list namespaces /web, watch namespaces /web, deletecollection namespaces /web
    namespace/web/read +secrets | get secrets web | create secrets web, get secrets lab, list accesstokens.stonegate.dev
    namespace/web/read +tokens | get accesstokens.stonegate.dev, list accesstokens.stonegate.dev, create accesstokens.stonegate.dev
    namespace/web/read +tokens | delete accesstokens.stonegate.dev, create accesstokenrotations.stonegate.dev | list invitations.stonegate.dev
    namespace/web/read +rbac | get invitations.stonegate.dev, list invitations.stonegate.dev, create invitations.stonegate.dev
    namespace/web/read +rbac | delete invitations.stonegate.dev | list accesstokens.stonegate.dev, create teams.stonegate.dev`,
    (scopes, may = '', mayNot = '') => {
      const { allows } = tokenScope(scopes);
      const asked = (cell: string) => cell.split(', ').filter((text) => text !== '');
      for (const text of asked(may)) t.ok(allows(questionOf(text)), `${scopes} allows ${text}`);
      for (const text of asked(mayNot)) t.notOk(allows(questionOf(text)), `${scopes} refuses ${text}`);
    },
  );
});

t.test('only session reaches tenants other than that of the owner', async (t) => {
  const isAllowed = (scopes: string, tenant: string) =>
    tokenScope(scopes, [], 'acme').allows({ ...questionOf('get pods web'), tenant });
  t.same(
    [isAllowed('read', 'acme'), isAllowed('read', 'globex'), isAllowed('session', 'globex')],
    [true, false, true],
  );
});

t.test("on an API server without tenants tenant/LEVEL covers the tenant's own namespaces", async (t) => {
  const site = accessIndexOf(
    namespace('web', { labels: { 'stonegate.dev/tenant': 'acme' } }),
    namespace('lab', { labels: { 'stonegate.dev/tenant': 'globex' } }),
    ...rbacObjects(`
      ClusterRole basic: list nodes
      ClusterRoleBinding basic: ClusterRole/basic to Group system:authenticated`),
  );
  const token = tokenScope(
    'tenant/manage namespace/blog/read',
    [],
    createTenantNamespaces(site.access)('acme'),
  );
  const asked = ['get pods web', 'list nodes', 'list teams.stonegate.dev', 'get pods lab', 'get nodes /one'];
  const allowed = () => asked.filter((text) => token.allows(questionOf(text)));
  t.same(allowed(), asked.slice(0, 3));
  t.notOk(token.allows({ verb: 'get', path: '/metrics' }));
  t.same([...token.namespaces()], ['', 'blog', 'web']);
  t.match(token.described, 'only namespaces that carry no other tenant');
  t.equal(tokenScope('session').described, 'session');
  site.becomeStale();
  t.same(allowed(), []);
});

t.test('D401 D403 a token needs a scope or a rule, and may name only scopes that exist', async (t) => {
  const problem = (text: string, rules: typeof RULES = []) =>
    scopeProblem({ scopes: text === '' ? [] : text.split(' '), rules });
  for (const text of ['', '+secrets']) {
    t.match(problem(text), /at least one scope or rule/, text);
    t.equal(problem(text, RULES), undefined, text);
  }
  t.equal(problem('+secrets userinfo'), undefined);
  for (const text of [
    'role:foo',
    'role:foo:',
    'role::ns',
    'role:',
    'tenant/*',
    'namespace/*/read',
    'tenant/admin',
  ])
    t.match(problem(`read ${text}`), `there is no scope "${text}"`);
});

t.test('the notes of a token say what its holder can do that its scopes do not say', async (t) => {
  const notes = (text: string, rules = RULES) => scopeNotes({ scopes: text.split(' '), rules }).join('\n');
  for (const text of linesOf('read\nnamespace/web/control')) t.equal(notes(text), '', text);
  for (const text of linesOf('tenant/edit\nnamespace/web/manage\nsession'))
    t.match(notes(text), /workloads/, text);
  for (const verb of ['*', 'create']) t.match(notes('read', [...RULES, ...written(verb)]), /workloads/, verb);
  t.match(
    notes('read +secrets +exec'),
    /^\+secrets: it reads and writes Secrets.*\n\+exec: it runs commands/,
  );
});

t.test('a token lives no longer than the shortest life of its scopes', async (t) => {
  const { lifetimes } = tokensSchema.parse({});
  const hours = (text: string, rules: typeof RULES = []) =>
    longestLife({ scopes: text.split(' '), rules }, lifetimes) / 3_600_000;
  t.same([hours('userinfo'), hours('read userinfo'), hours('session read')], [8_760, 2_160, 24]);
  t.same([hours('read +exec'), hours('read', RULES), hours('read no-scope')], [168, 720, 168]);
});
