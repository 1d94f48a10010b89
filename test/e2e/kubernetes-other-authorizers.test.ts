/**
 * Filtered lists in front of a real kube-apiserver in the cases in which the RBAC index alone does not
 * decide: another authorizer allows more than RBAC, or there are more roles and bindings than it holds.
 */
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { kubeconfigOf } from '../support/kubeconfig.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { bind, RBAC } from '../support/kubernetes/rbac.ts';
import { type KubernetesSite, startKubernetesSite } from '../support/kubernetes/site.ts';
import { rule } from '../support/policy-rule.ts';
import { createAuthority } from '../support/tls/authority.ts';

const NAMESPACES = '/api/v1/namespaces';

interface Review {
  readonly kind: string;
  readonly apiVersion: string;
  readonly spec: { readonly user?: string };
}

/** An authorizer of the API server that allows some users everything, and has no opinion on the rest. */
async function startAuthorizer(t: Test) {
  const authority = await createAuthority('authorizer CA');
  const allowed = new Set<string>();
  const server = createServer(await authority.server('authorizer'), async (request, response) => {
    const { kind, apiVersion, spec }: Review = JSON.parse(await text(request));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ kind, apiVersion, status: { allowed: allowed.has(spec.user ?? '') } }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  const { port }: AddressInfo = Object(server.address());
  const kubeconfig = kubeconfigOf({ url: `https://127.0.0.1:${port}/`, ca: authority.cert }, {});
  return { allowed, kubeconfig };
}

async function view({ kubernetes }: KubernetesSite, namespace: string, name: string) {
  const subjects = [`user:acme:${name}`] as const;
  await bind(kubernetes, { name: `of-${name}`, namespace, role: 'namespace-viewer', subjects });
}

async function prepare({ kubernetes }: KubernetesSite) {
  for (const name of ['a', 'b']) await kubernetes.create(NAMESPACES, { metadata: { name } });
  const rules = [rule('get', 'namespaces'), rule('list,watch', 'configmaps')];
  await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name: 'namespace-viewer' }, rules });
}

/** The names in the user's list, or the status if it is refused. */
async function seenBy({ stonegate }: KubernetesSite, token: string) {
  const { status, body } = await stonegate.ask(token, NAMESPACES);
  if (status !== 200) return String(status);
  return namesIn(body);
}

function namesIn(body: string) {
  const { items }: { items: { metadata: { name: string } }[] } = JSON.parse(body);
  return items.map(({ metadata }) => metadata.name).join();
}

t.test('what another authorizer allows is not filtered', { skip: missingKubernetes() }, async (t) => {
  const { allowed, kubeconfig } = await startAuthorizer(t);
  const site = await startKubernetesSite(t, {
    files: { 'authorizer.kubeconfig': kubeconfig },
    flags: (file) => [
      '--authorization-mode=Node,Webhook,RBAC',
      `--authorization-webhook-config-file=${file('authorizer.kubeconfig')}`,
      '--authorization-webhook-version=v1',
      '--authorization-webhook-cache-authorized-ttl=1ns',
      '--authorization-webhook-cache-unauthorized-ttl=1ns',
    ],
    configuration: {
      access: { index: true, authorizers: ['Node', 'Webhook', 'RBAC'], othersNeverDeny: true },
    },
  });
  const { stonegate, kubernetes } = site;
  await prepare(site);
  await view(site, 'a', 'alice');
  allowed.add('acme:bob');
  const alice = stonegate.keystoneToken('alice');
  const bob = site.newcomer('bob');
  await eventually(async () => (await seenBy(site, alice)) === 'a');
  const all = await kubernetes.ask(kubernetes.admin, NAMESPACES);
  t.equal(await seenBy(site, bob), namesIn(all.body));
  for (const [token, isFiltered] of [
    [alice, true],
    [bob, false],
  ] as const) {
    const list = await stonegate.ask(token, NAMESPACES);
    t.equal(list.headers['stonegate-filtered'], isFiltered ? 'rbac' : undefined);
    const { metadata }: { metadata: { resourceVersion: string } } = JSON.parse(list.body);
    const from = `watch=1&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`;
    const watch = await stonegate.ask(token, `${NAMESPACES}?${from}`);
    t.equal(watch.status, 200);
    t.equal(watch.headers['stonegate-filtered'], isFiltered ? 'rbac' : undefined);
    t.notMatch(watch.body, /ERROR/);
    const begun = await stonegate.ask(token, `${NAMESPACES}?watch=1&timeoutSeconds=1`);
    t.equal(begun.body.match(/ADDED/g)?.length, namesIn(list.body).split(',').length);
    const everywhere = await stonegate.ask(token, '/api/v1/configmaps');
    t.equal(everywhere.status, 200);
    t.equal(everywhere.headers['stonegate-filtered'], isFiltered ? 'rbac' : undefined);
  }
  for (const path of [NAMESPACES, '/api/v1/configmaps']) {
    allowed.delete('acme:alice');
    const { metadata }: { metadata: { resourceVersion: string } } = JSON.parse(
      (await stonegate.ask(alice, path)).body,
    );
    allowed.add('acme:alice');
    const from = `watch=1&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`;
    t.match((await stonegate.ask(alice, `${path}?${from}`)).body, /"code":410/, 'she may see all by now');
  }
});

t.test('nothing is filtered without access.authorizers', { skip: missingKubernetes() }, async (t) => {
  const site = await startKubernetesSite(t, { configuration: { access: { index: true } } });
  await prepare(site);
  await view(site, 'a', 'alice');
  t.equal(await seenBy(site, site.stonegate.keystoneToken('alice')), '403');
  t.match(site.stonegate.logged.join('\n'), /lists of namespaces, and of all namespaces, are not filtered/);
});

t.test(
  'with more roles than the index holds, requests are forwarded as if there were no index',
  { skip: missingKubernetes() },
  async (t) => {
    const access = { index: true, authorizers: ['Node', 'RBAC'], maxIndexBytes: 4_000_000 };
    const site = await startKubernetesSite(t, { configuration: { access } });
    await prepare(site);
    await view(site, 'a', 'alice');
    const alice = site.stonegate.keystoneToken('alice');
    await eventually(async () => (await seenBy(site, alice)) === 'a');
    const createRole = (name: string, names: number) =>
      site.kubernetes.create(`${RBAC}/namespaces/a/roles`, {
        metadata: { name },
        rules: [
          {
            ...rule('get', 'configmaps'),
            resourceNames: Array.from({ length: names }, (_, at) => `${name}-${at}`),
          },
        ],
      });
    await createRole('too-large', 60_000);
    t.equal(await seenBy(site, site.newcomer('bob')), '', 'the index leaves out a role that is too large');
    for (let at = 0; at < 30; at += 1) await createRole(`large-${at}`, 4_000);
    await eventually(async () => (await seenBy(site, alice)) === '403');
  },
);
