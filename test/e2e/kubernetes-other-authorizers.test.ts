/**
 * Filtered namespaces in front of a real kube-apiserver in the cases in which the RBAC index alone does not
 * decide: another authorizer refuses what RBAC allows, or a namespace has more bindings than the index holds.
 */
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { kubeconfigOf } from '../support/kubeconfig.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { type KubernetesSite, startKubernetesSite } from '../support/kubernetes/site.ts';
import { createAuthority } from '../support/tls/authority.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const NAMESPACES = '/api/v1/namespaces';
const apiGroup = 'rbac.authorization.k8s.io';

interface Review {
  readonly kind: string;
  readonly apiVersion: string;
  readonly spec: { readonly user?: string; readonly resourceAttributes?: { readonly name?: string } };
}

/** An authorizer of the API server that refuses some names to all users, and has no opinion on the rest. */
async function startAuthorizer(t: Test) {
  const authority = await createAuthority('authorizer CA');
  const refused = new Set<string>();
  const server = createServer(await authority.server('authorizer'), async (request, response) => {
    const { kind, apiVersion, spec }: Review = JSON.parse(await text(request));
    const denied = refused.has(spec.resourceAttributes?.name ?? '');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ kind, apiVersion, status: { allowed: false, denied } }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  const { port }: AddressInfo = Object(server.address());
  const kubeconfig = kubeconfigOf({ url: `https://127.0.0.1:${port}/`, ca: authority.cert }, {});
  return { refused, kubeconfig };
}

async function grant({ kubernetes }: KubernetesSite, namespace: string, names: readonly string[]) {
  for (const name of names)
    await kubernetes.create(`${RBAC}/namespaces/${namespace}/rolebindings`, {
      metadata: { name: `of-${name}` },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'namespace-viewer' },
      subjects: [{ apiGroup, kind: 'User', name: `acme:${name}` }],
    });
}

async function prepare({ kubernetes }: KubernetesSite): Promise<void> {
  for (const name of ['a', 'b']) await kubernetes.create(NAMESPACES, { metadata: { name } });
  const rules = [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }];
  await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name: 'namespace-viewer' }, rules });
}

/** The names in the user's list; the status if there is none. */
async function seenBy({ stonegate }: KubernetesSite, token: string): Promise<string> {
  const { status, body } = await stonegate.ask(token, NAMESPACES);
  if (status !== 200) return String(status);
  const { items }: { items: { metadata: { name: string } }[] } = JSON.parse(body);
  return items.map(({ metadata }) => metadata.name).join();
}

t.test('what another authorizer refuses is not listed', { skip: missingKubernetes() }, async (t) => {
  const { refused, kubeconfig } = await startAuthorizer(t);
  const site = await startKubernetesSite(t, {
    files: { 'authorizer.kubeconfig': kubeconfig },
    flags: (file) => [
      '--authorization-mode=Node,Webhook,RBAC',
      `--authorization-webhook-config-file=${file('authorizer.kubeconfig')}`,
      '--authorization-webhook-version=v1',
      '--authorization-webhook-cache-authorized-ttl=1ns',
      '--authorization-webhook-cache-unauthorized-ttl=1ns',
    ],
    configuration: { access: { index: true } },
  });
  await prepare(site);
  for (const name of ['a', 'b']) await grant(site, name, ['alice']);
  refused.add('b');
  const alice = site.stonegate.keystoneToken('alice');
  await eventually(async () => (await seenBy(site, alice)) === 'a');
  t.equal((await site.stonegate.ask(alice, `${NAMESPACES}/b`)).status, 403, 'as for the object itself');
});

t.test(
  'with more roles than the index holds, requests are forwarded as if there were no index',
  { skip: missingKubernetes() },
  async (t) => {
    const access = { index: true, authorizers: ['Node', 'RBAC'], maxIndexBytes: 4_000_000 };
    const site = await startKubernetesSite(t, { configuration: { access } });
    await prepare(site);
    await grant(site, 'a', ['alice']);
    const alice = site.stonegate.keystoneToken('alice');
    await eventually(async () => (await seenBy(site, alice)) === 'a');
    const createRole = (name: string, names: number) =>
      site.kubernetes.create(`${RBAC}/namespaces/a/roles`, {
        metadata: { name },
        rules: [
          {
            verbs: ['get'],
            apiGroups: [''],
            resources: ['configmaps'],
            resourceNames: Array.from({ length: names }, (_, at) => `${name}-${at}`),
          },
        ],
      });
    await createRole('too-large', 60_000);
    t.equal(await seenBy(site, site.newcomer('bob')), '', 'one that is too large is left out');
    for (let at = 0; at < 20; at += 1) await createRole(`large-${at}`, 4_000);
    await eventually(async () => (await seenBy(site, alice)) === '403');
  },
);
