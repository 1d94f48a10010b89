/**
 * Access across tenants: users enter another tenant under a policy, with a real kubectl through a Stonegate
 * process in front of Arktos.
 */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { createKubectl, findKubectls, type Kubectl, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { type CrossTenant, prepareCrossTenant } from '../support/cross-tenant.ts';
import { eventually } from '../support/eventually.ts';
import { rule } from '../support/policy-rule.ts';
import { serveStonegate } from '../support/stonegate-process.ts';
import { startTestbed } from '../support/testbed.ts';

const PODS = rule('get,list', 'pods');

async function start(t: Test, options: Parameters<typeof prepareCrossTenant>[1]) {
  const testbed = await startTestbed(t, { folder: join(t.testdir({}), 'land') });
  const crossTenant = await prepareCrossTenant(testbed, options);
  const stonegate = await serveStonegate(testbed.configFile);
  t.teardown(() => stonegate.stop());
  const [binary = ''] = findKubectls();
  return {
    testbed,
    crossTenant,
    reload: () => stonegate.signal('SIGHUP'),
    /** kubectl as alice of acme, for the tenant. */
    alice(tenant: string) {
      const kubectl = createKubectl(t, binary, {
        server: `https://127.0.0.1:${stonegate.port}/tenants/${tenant}`,
        ca: testbed.authority.cert,
        token: testbed.keystoneToken('alice'),
      });
      return kubectl;
    },
    async reconfigure(changes: Parameters<CrossTenant['configure']>[0]) {
      await crossTenant.configure(changes);
      stonegate.signal('SIGHUP');
    },
  };
}

const skip = findKubectls().length === 0 && NO_KUBECTL;
const LIST = ['get', 'pods', '-o', 'name', '-n', 'default'];
const ROLE = 'stonegate:policy';

async function mayList(kubectl: Kubectl) {
  const { code, stdout } = await kubectl.run(LIST);
  return code === 0 && stdout.trim() === 'pod/web';
}

t.test('a line of the operator’s policy file lets a user into another tenant', { skip }, async (t) => {
  const line = { name: 'audit', tenant: 'acme', user: 'alice', space: 'globex', readonly: true };
  const { crossTenant, alice, reload, reconfigure } = await start(t, { abac: [] });
  await crossTenant.writePolicyFile([line]);
  reload();
  const kubectl = alice('globex');
  await eventually(() => mayList(kubectl));
  t.ok(crossTenant.object('clusterroles', 'globex', `${ROLE}:abac:audit`), 'with a role in that tenant');
  const written = await kubectl.run('delete pod web -n default');
  t.match(written.stderr, /Forbidden/, 'nothing beyond the policy is allowed');
  t.match((await alice('nowhere').run(LIST)).stderr, /Forbidden/);
  await crossTenant.writePolicyFile([{ ...line, space: 'initech' }]);
  reload();
  await eventually(async () => !(await mayList(kubectl)));
  await crossTenant.writePolicyFile([line]);
  reload();
  await eventually(() => mayList(kubectl));
  await reconfigure({ abac: [] });
  await eventually(async () => !(await mayList(kubectl)));
  await eventually(() => crossTenant.provisioned().length === 0);
});

t.test('a policy of a tenant’s administrator lets users into the tenant', { skip }, async (t) => {
  const authorization = { crossTenantPolicies: true };
  const { crossTenant, alice } = await start(t, { authorization });
  const kubectl = alice('globex');
  t.notOk(await mayList(kubectl));
  crossTenant.policy('globex', 'support', {
    subjects: [{ kind: 'User', tenant: 'acme', name: 'alice' }],
    namespaces: ['default'],
    rules: [PODS],
  });
  await eventually(() => mayList(kubectl));
  await eventually(() => readyOf(crossTenant, 'crosstenantpolicies', 'globex', 'support') === 'Ready');
  t.same(
    crossTenant.provisioned().filter((name) => name.startsWith('acme/')),
    [],
    'roles are created only in the tenant of the policy',
  );
  crossTenant.remove('crosstenantpolicies', 'globex', 'support');
  await eventually(async () => !(await mayList(kubectl)));
  await eventually(() => crossTenant.provisioned().length === 0);
});

t.test(
  'a policy that no webhook has reviewed grants nothing, and its status says so',
  { skip },
  async (t) => {
    const { crossTenant, testbed } = await start(t, { authorization: { crossTenantPolicies: true } });
    testbed.apiServer.cluster.remove({
      tenant: '',
      group: 'admissionregistration.k8s.io',
      resource: 'validatingwebhookconfigurations',
      namespace: '',
      name: 'stonegate-policies',
    });
    crossTenant.policy('globex', 'support', {
      subjects: [{ kind: 'User', tenant: 'acme', name: 'alice' }],
      namespaces: ['*'],
      rules: [PODS],
    });
    const reason = () => readyOf(crossTenant, 'crosstenantpolicies', 'globex', 'support');
    await eventually(() => reason() === 'AdmissionRequired');
    t.same(crossTenant.provisioned(), []);
  },
);

t.test('groups can administer a set of tenants, and audit events record it', { skip }, async (t) => {
  const { crossTenant, alice, testbed } = await start(t, { authorization: { tenantAdministrations: true } });
  const { directory } = testbed.keystone;
  const kubectl = alice('globex');
  crossTenant.administration('operators', {
    groups: [`keystone:project:${directory.project('acme', 'web').id}`],
    domain: 'acme',
    tenants: { names: ['globex'] },
    clusterRole: 'stonegate:read',
    reason: 'on call',
  });
  await eventually(() => mayList(kubectl));
  await eventually(() => readyOf(crossTenant, 'tenantadministrations', 'system', 'operators') === 'Ready');
  crossTenant.remove('tenantadministrations', 'system', 'operators');
  await eventually(async () => !(await mayList(kubectl)));
  await eventually(() => crossTenant.provisioned().length === 0);
  const memberships = async () =>
    (await readFile(join(dirname(testbed.configFile), 'audit.log'), 'utf8'))
      .split('\n')
      .filter((line) => line.includes('"tenantadministrations"'))
      .map((line) => JSON.parse(line));
  await eventually(async () => (await memberships()).length === 2);
  const annotations = {
    'stonegate.dev/entered-tenant': 'globex',
    'stonegate.dev/policy': 'administration:operators',
    'stonegate.dev/reason': 'on call',
  };
  t.match(await memberships(), [
    {
      kind: 'Event',
      stage: 'ResponseComplete',
      verb: 'grant',
      objectRef: { name: 'operators' },
      annotations,
    },
    { verb: 'revoke', annotations },
  ]);
});

function readyOf(crossTenant: CrossTenant, ...place: Parameters<CrossTenant['object']>): unknown {
  const object = crossTenant.object(...place);
  return JSON.parse(JSON.stringify(object ?? {})).status?.conditions?.[0]?.reason;
}
