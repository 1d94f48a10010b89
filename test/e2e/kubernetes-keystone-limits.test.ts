/**
 * Limits of Keystone at a real kube-apiserver: the quotas of projects and tenants follow them, with the
 * rights that `stonegate manifests rbac --provisioner` prints.
 */
import t from 'tap';
import { sync } from '../../src/app/commands/sync.ts';
import { eventually } from '../support/eventually.ts';
import { admitBridge, BRIDGE } from '../support/keystone/bridge.ts';
import { missingControllers } from '../support/kubernetes/programs.ts';
import { startQuotaSite } from '../support/kubernetes/quota-site.ts';
import { printedBy } from '../support/printed-io.ts';
import type { Testbed } from '../support/testbed.ts';

const TENANT_QUOTA = '/apis/tenancy.stonegate.dev/v1alpha1/namespaces/stonegate/tenantquotas/acme';
const MERGE_PATCH = 'application/merge-patch+json';

/** Limits of pods and memory: registered ones, and one of the project `web`. */
async function limits({ keystone, configFile }: Testbed) {
  const { directory } = keystone;
  await admitBridge(keystone, configFile);
  const project = directory.project('acme', 'web');
  directory.limits.push(
    { resource: 'pods', limit: 10 },
    { resource: 'ram', limit: 2048 },
    { resource: 'pods', limit: 4, of: { project } },
  );
}

t.test('limits from Keystone', { skip: missingControllers() }, async (t) => {
  const site = await startQuotaSite(t, {
    quota: {
      default: { pods: '1', services: '5' },
      keystoneLimits: {
        service: 'kubernetes',
        resources: { pods: 'pods', 'requests.memory': { name: 'ram', unit: 'Mi' } },
        roleBindings: 50,
      },
    },
    keystoneConfiguration: { serviceCredential: BRIDGE },
    prepare: limits,
  });
  const { directory } = site.testbed.keystone;
  const web = directory.project('acme', 'web');
  const projectQuota = `/api/v1/namespaces/${web.id}/resourcequotas/stonegate-project`;
  const synchronised = () => printedBy(sync, ['--config', site.testbed.configFile]);
  const hard = async (path: string): Promise<unknown> => {
    const { status, body } = await site.send('GET', path);
    return status === 200 ? JSON.parse(body).spec.hard : undefined;
  };
  const becomes = (path: string, wanted: object) =>
    eventually(async () => JSON.stringify(sorted(await hard(path))) === JSON.stringify(sorted(wanted)));

  await t.test('limit the namespace of a project', async (t) => {
    const wanted = {
      pods: '4',
      'requests.memory': '2Gi',
      'count/roles.rbac.authorization.k8s.io': '200',
      'count/rolebindings.rbac.authorization.k8s.io': '50',
    };
    t.match(await synchronised(), { stdout: / 0 failed/ });
    t.strictSame(sorted(await hard(projectQuota)), sorted(wanted));
    t.match(
      await synchronised(),
      { stdout: /^0 done, 0 failed/ },
      'the API server stores the same quantities',
    );
  });

  await t.test('limit the tenant, with the default for what Keystone does not limit', async (t) => {
    const wanted = { pods: '10', 'requests.memory': '2Gi', services: '5' };
    await becomes(TENANT_QUOTA, wanted);
    const other = { spec: { hard: { pods: '99' } } };
    t.equal((await site.send('PATCH', TENANT_QUOTA, other, MERGE_PATCH)).status, 200);
    await becomes(TENANT_QUOTA, wanted);
  });

  await t.test('take effect when they change, and undo the changes of others', async (t) => {
    directory.limits.push({ resource: 'ram', limit: -1, of: { project: web } });
    t.match(await synchronised(), { stdout: /^\S+ update ResourceQuota/m });
    t.match(await hard(projectQuota), { pods: '4', 'requests.memory': undefined });
    await site.send('PATCH', projectQuota, { spec: { hard: { pods: '99' } } }, MERGE_PATCH);
    await synchronised();
    t.match(await hard(projectQuota), { pods: '4' });
  });
});

function sorted(quantities: unknown) {
  return Object.entries(quantities ?? {}).sort();
}
