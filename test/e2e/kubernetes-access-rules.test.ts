/**
 * Access rules in front of a real kube-apiserver: they are what its SubjectAccessReviews say, they follow
 * changes, and a service needs a right to ask about other users.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { access } from '../../src/cli/access.ts';
import type { AccessRulesStatus } from '../../src/features/access-rules/access-rules-v1alpha1.ts';
import type { JsonObject } from '../support/apiserver/json.ts';
import { createKubectl, findAllKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { rulesAllow } from '../support/evaluate-rules.ts';
import { eventually } from '../support/eventually.ts';
import { posted } from '../support/https-client.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { apply, isAllowed, startKubernetesSite, WHOAMI, WHOAMI_PATH } from '../support/kubernetes/site.ts';
import { rule } from '../support/policy-rule.ts';
import { printedBy } from '../support/printed-io.ts';

const [kubectlBinary] = findAllKubectls();
const missing = missingKubernetes() || (kubectlBinary === undefined && NO_KUBECTL);
const RBAC = 'rbac.authorization.k8s.io';
const RULES = '/apis/stonegate.dev/v1alpha1/selfaccessrules';
const REVIEWS = '/apis/stonegate.dev/v1alpha1/accessrulesreviews';
const CONFIGURATION: Record<string, object> = parse(`
  access:
    index: true
    authorizers: [Node, RBAC]
    namedSets: [{name: deployable, verb: create, apiGroup: apps, resource: deployments}]`);

t.test('access rules at a kube-apiserver', { skip: missing }, async (t) => {
  const site = await startKubernetesSite(t, { configuration: CONFIGURATION });
  const { kubernetes, stonegate } = site;
  const { directory } = stonegate.keystone;
  const alice = directory.user('acme', 'alice');
  const web = directory.project('acme', 'web');
  directory.assign(alice, 'reader', { project: directory.project('acme', 'batch') });
  const token = stonegate.keystoneToken('alice');

  async function bind(
    kind: 'ClusterRoleBinding' | 'RoleBinding',
    namespace: string,
    role: string,
    to: JsonObject,
  ) {
    const name = `${role}-${JSON.stringify(to)
      .replace(/[^a-z0-9]+/gi, '-')
      .toLowerCase()}x`;
    await apply(kubernetes, {
      kind,
      apiVersion: `${RBAC}/v1`,
      metadata: kind === 'RoleBinding' ? { name, namespace } : { name },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
      subjects: [to],
    });
  }
  const group = (name: string) => ({ apiGroup: RBAC, kind: 'Group', name });
  const user = (name: string) => ({ apiGroup: RBAC, kind: 'User', name });
  const clusterRole = (name: string, rules: JsonObject[]) =>
    apply(kubernetes, { kind: 'ClusterRole', apiVersion: `${RBAC}/v1`, metadata: { name }, rules });

  await clusterRole('reader', [rule('get,list,watch', 'pods,configmaps'), rule('list', 'deployments', '*')]);
  await clusterRole('prices', [
    { ...rule('list', 'configmaps'), resourceNames: ['prices'] },
    rule('list', 'nodes'),
  ]);
  await site.letWork('shop', 'acme:alice');
  for (const name of ['billing', 'lab'])
    await apply(kubernetes, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await bind('RoleBinding', 'billing', 'reader', group(`keystone:project:${web.id}`));
  await bind('ClusterRoleBinding', '', 'prices', user('acme:alice'));

  async function statusOf(given: string, query = '?verb=list'): Promise<AccessRulesStatus> {
    const { status, body } = await stonegate.ask(given, `${RULES}${query}`);
    if (status !== 200) throw new Error(`${status} ${body}`);
    return JSON.parse(body).status;
  }
  const mentions = async (given: string, namespace: string) =>
    (await statusOf(given)).namespaces.some(({ names }) => names.includes(namespace));
  await eventually(async () => (await mentions(token, 'shop')) && (await mentions(token, 'billing')));

  await t.test('the rules allow what a SubjectAccessReview allows', async (t) => {
    const rules = await statusOf(token);
    t.equal(rules.incomplete, false);
    const review = JSON.parse((await stonegate.ask(token, WHOAMI_PATH, WHOAMI)).body);
    const { username, groups } = review.status.userInfo;
    for (const namespace of ['', 'shop', 'billing', 'lab'])
      for (const [apiGroup, resource] of [
        ['', 'pods'],
        ['', 'secrets'],
        ['', 'configmaps'],
        ['', 'nodes'],
        ['apps', 'deployments'],
      ] as const)
        for (const name of ['', 'prices']) {
          const asked = { namespace, verb: 'list', resource, name };
          const resourceAttributes = { ...asked, group: apiGroup };
          const expected = await isAllowed(kubernetes, { user: username, groups, resourceAttributes });
          const allowed = rulesAllow(rules, { ...asked, apiGroup, subresource: '' });
          t.equal(allowed, expected, JSON.stringify(resourceAttributes));
        }
    t.same(rules.sets, { deployable: ['shop'] });
  });

  await t.test('D140: a token with another scope gets the rules of that scope', async (t) => {
    const other = stonegate.keystone.issue(alice, { project: directory.project('acme', 'batch') });
    t.ok(await mentions(other, 'shop'), 'granted to the user by name');
    t.notOk(await mentions(other, 'billing'), 'granted to a project that is not the scope');
  });

  await t.test('a request with the ETag gets a 304 until a right is added', async (t) => {
    const first = await stonegate.ask(token, `${RULES}?verb=list`);
    const headers = { 'if-none-match': String(first.headers.etag) };
    t.equal((await stonegate.ask(token, `${RULES}?verb=list`, { headers })).status, 304);
    await bind('RoleBinding', 'lab', 'reader', user('acme:alice'));
    await eventually(
      async () => (await stonegate.ask(token, `${RULES}?verb=list`, { headers })).status === 200,
    );
    t.ok(await mentions(token, 'lab'));
  });

  await t.test('a service with the right can ask about users of its own tenant only', async (t) => {
    const service = site.newcomer('dora');
    const kind = { kind: 'AccessRulesReview', apiVersion: 'stonegate.dev/v1alpha1' };
    const ask = (spec: object) => stonegate.ask(service, REVIEWS, posted({ ...kind, spec }));
    const refused = await ask({ verb: 'list', token });
    t.equal(refused.status, 403);
    t.match(JSON.parse(refused.body).message, 'accessrulesreviews.stonegate.dev is forbidden');
    await clusterRole('asker', [rule('create', 'accessrulesreviews', 'stonegate.dev')]);
    const { username } = JSON.parse(
      (await stonegate.ask(service, '/apis/stonegate.dev/v1alpha1/selfidentity')).body,
    ).status.user;
    await bind('ClusterRoleBinding', '', 'asker', user(username));
    await eventually(async () => (await ask({ verb: 'list', token })).status === 201);
    const { status } = JSON.parse((await ask({ verb: 'list', token })).body);
    const { validUntil: _, revision: _revision, ...own } = await statusOf(token);
    const { validUntil: _validUntil, revision: _of, user: named, ...reviewed } = status;
    t.strictSame(reviewed, own);
    t.match(named, { username: 'acme:alice' });
    const bad = await ask({ token: 'gAAAAABno-such-token' });
    t.equal(bad.status, 403);
    const { details: _details, ...alike } = JSON.parse(bad.body);
    for (const spec of [
      { token: stonegate.keystoneToken('bob') },
      { user: 'globex:bob' },
      { user: 'system:admin' },
    ])
      t.match(JSON.parse((await ask(spec)).body), alike);
  });

  await t.test('kubectl gets the document, and stonegate access prints it as a matrix', async (t) => {
    const kubectl = createKubectl(t, kubectlBinary ?? '', {
      server: stonegate.url,
      ca: stonegate.authority.cert,
      token,
    });
    const got = await kubectl.run('get selfaccessrules -o json');
    t.equal(got.code, 0, got.stderr);
    t.match(JSON.parse(got.stdout), { items: [{ kind: 'SelfAccessRules', status: { incomplete: false } }] });
    const folder = t.testdir({ token, 'ca.crt': stonegate.authority.cert });
    await writeFile(join(folder, 'empty'), '');
    const server = ['--server', stonegate.url, '--ca-file', join(folder, 'ca.crt')];
    const run = (...words: string[]) =>
      printedBy(access, [...server, '--token-file', join(folder, 'token'), ...words], {});
    const table = await run();
    t.same([table.code, table.stderr], [0, '']);
    t.match(table.stdout, /^NAMESPACES +KIND +GET/);
    t.match(table.stdout, /configmaps .*\(✔\)/);
    const here = await run('-n', 'shop', '-o', 'json');
    const names = JSON.parse(here.stdout).status.namespaces.flatMap(
      (entry: { names: string[] }) => entry.names,
    );
    t.same(names, ['shop']);
    t.match(await run('-o', 'xml'), { code: 2 });
    t.match(await run('-n', ''), { code: 1, stderr: /empty/ });
  });
});
