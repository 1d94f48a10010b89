/**
 * An Arktos API server with the admission webhook as `stonegate manifests admission` registers it. Its
 * clients bypass Stonegate: service accounts of a tenant, and controllers of the system, whose names every
 * tenant can give to accounts of its own.
 */
import t, { type Test } from 'tap';
import { startAdmissionWebhook } from '../support/admission-webhook.ts';
import { createApiServer } from '../support/apiserver/api-server.ts';
import { textAt } from '../support/apiserver/json.ts';
import { printedManifests } from '../support/manifests.ts';
import { rule } from '../support/policy-rule.ts';

const RBAC = 'rbac.authorization.k8s.io';

async function start(t: Test) {
  const server = await createApiServer({ flavour: 'arktos' });
  t.teardown(() => server.close());
  const webhook = await startAdmissionWebhook(t, 'arktos');
  const { seed, cluster } = server;
  const url = `https://127.0.0.1:${webhook.port}`;
  const words = ['--config', webhook.configFile, '--ca-file', webhook.caFile, '--url', url];
  for (const configuration of await printedManifests('admission', ...words)) {
    const name = textAt(JSON.parse(JSON.stringify(configuration.metadata)), 'name');
    seed.object('admissionregistration.k8s.io/v1/validatingwebhookconfigurations', name, configuration);
  }
  seed.tenant('acme');

  /** The token of a service account in the tenant's `kube-system` that may do everything in its tenant. */
  function token(tenant: string, name: string) {
    const subjects = [{ kind: 'ServiceAccount', namespace: 'kube-system', name }];
    const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: 'admin-role' };
    seed.object(`${RBAC}/v1/clusterrolebindings`, name, { subjects, roleRef }, { tenant });
    return seed.serviceAccountToken({ tenant, namespace: 'kube-system', name });
  }
  return {
    seed,
    token,
    stored: (resource: string, name: string) =>
      cluster.store.list({ group: '', resource, name }).map(({ object }) => object.metadata),
    /** @returns the status, and the message of a refusal */
    async write(credential: string, method: string, path: string, body?: object) {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const response = await fetch(`${server.url}${path.startsWith('/') ? path : `/api/v1/${path}`}`, {
        method,
        headers: { authorization: `Bearer ${credential}`, 'content-type': type },
        ...(body && { body: JSON.stringify(body) }),
      });
      const { message = '' }: { message?: string } = JSON.parse(await response.text());
      return { status: response.status, message };
    },
  };
}

const REFUSED = { status: 403, message: /kind: \w+ are only for the system/ };
const LABELLED = { metadata: { name: 'acme', labels: { region: 'eu' } } };
const OTHER = { metadata: { name: 'other' }, spec: { storageClusterId: '0' } };

t.test(
  'no service account of a tenant may write Tenant objects, not even that of its own tenant',
  async (t) => {
    const { token, write, stored } = await start(t);
    for (const name of ['default', 'tenant-controller', 'namespace-controller', 'node-controller']) {
      const account = token('acme', name);
      for (const path of ['tenants/acme', 'tenants/acme/status'])
        t.match(await write(account, 'PATCH', path, LABELLED), REFUSED, `${name} ${path}`);
      t.match(await write(account, 'PUT', 'tenants/acme/finalize', LABELLED), REFUSED, name);
      t.match(await write(account, 'DELETE', 'tenants/acme'), REFUSED, name);
      t.match(await write(account, 'POST', 'tenants', OTHER), REFUSED, name);
    }
    t.match(stored('tenants', 'acme'), [{ name: 'acme', labels: undefined }]);
  },
);

t.test('the tenant controller can finish the deletion of a tenant', async (t) => {
  const { seed, token, write, stored } = await start(t);
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  seed.object('v1/tenants', 'doomed', { metadata: { deletionTimestamp }, spec: { finalizers: ['arktos'] } });
  const controller = token('system', 'tenant-controller');
  const finalized = { metadata: { name: 'doomed', deletionTimestamp }, spec: { finalizers: [] } };
  t.match(await write(controller, 'PUT', 'tenants/doomed/finalize', finalized), { status: 200 });
  t.match(await write(controller, 'DELETE', 'tenants/doomed'), { status: 200 });
  t.strictSame(stored('tenants', 'doomed'), []);
});

t.test('only the controllers that have to write nodes may, and only as they have to', async (t) => {
  const { token, write, stored } = await start(t);
  const taint = { spec: { taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' }] } };
  const other = token('acme', 'default');
  const ttl = token('system', 'ttl-controller');
  const node = token('system', 'node-controller');
  const calls = (account: string, name: string) => [
    write(account, 'POST', 'nodes', { metadata: { name } }),
    write(account, 'PATCH', 'nodes/n1', taint),
    write(account, 'DELETE', 'nodes/n1'),
  ];
  t.match(await Promise.all(calls(other, 'n2')), [REFUSED, REFUSED, REFUSED]);
  t.match(await Promise.all(calls(ttl, 'n3')), [REFUSED, { status: 200 }, REFUSED]);
  t.equal(stored('nodes', 'n1').length, 1);
  t.match(await write(node, 'PATCH', 'nodes/n1', taint), { status: 200 });
  t.match(await write(node, 'DELETE', 'nodes/n1'), { status: 200 });
});

t.test(
  'an administrator of a tenant makes the roles of Stonegate as they are printed, and no others',
  async (t) => {
    const { seed, token, write } = await start(t);
    const administrator = token('acme', 'default');
    const roles = `/apis/${RBAC}/v1/clusterroles`;
    const printed = await printedManifests('roles', '--mode', 'arktos');
    const nameOf = (role: (typeof printed)[number]) =>
      textAt(JSON.parse(JSON.stringify(role.metadata)), 'name');
    t.equal(printed.length, 5);
    const all = [rule('*', '*', '*')];
    seed.clusterRole('stonegate:read', all, { tenant: 'acme' });
    for (const role of printed) {
      const name = nameOf(role);
      const isThere = name === 'stonegate:read';
      const refused = { status: 403, message: /Stonegate/ };
      const [method, path] = isThere ? ['PUT', `${roles}/${name}`] : ['POST', roles];
      t.match(await write(administrator, method, path, { ...role, rules: all }), refused, name);
      t.match(await write(administrator, method, path, { ...role, aggregationRule: {} }), refused, name);
      t.match(await write(administrator, method, path, role), { status: isThere ? 200 : 201 }, name);
      t.match(await write(administrator, 'DELETE', `${roles}/${name}`), refused, name);
    }
  },
);
