/**
 * The commands of docs/tenants.md about Arktos as a reader types them, with real kubectl through a Stonegate
 * process in front of the stand-in.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import type { TenantAdministration } from '../../src/features/cross-tenant/tenancy-v1alpha1.ts';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { prepareCrossTenant, registerServedWebhook } from '../support/cross-tenant.ts';
import { freePort } from '../support/free-port.ts';
import { contextsOf } from '../support/kubeconfig.ts';
import { readFiles } from '../support/page-commands.ts';
import { administration, policyFacts, readAbacFile, resolvedPolicies } from '../support/policies.ts';
import { rule } from '../support/policy-rule.ts';
import { serveStonegate } from '../support/stonegate-process.ts';
import { followPage, PAGE } from '../support/tenants-page.ts';
import { startTestbed } from '../support/testbed.ts';

const skip = findKubectls().length === 0 && NO_KUBECTL;

t.test('the operator’s policies on the page are valid', async (t) => {
  const [, line = ''] = /```json\n(.*?)```/s.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const { policies, problems } = readAbacFile(line);
  t.same(problems, []);
  t.equal(policies.length, 1);
  const given: { spec: TenantAdministration['spec'] } = parse(
    readFiles(PAGE).get('administration.yaml') ?? '',
  );
  const facts = policyFacts({
    tenants: [{ name: 'globex', labels: { region: 'eu' } }],
    administrations: [administration(given.spec)],
  });
  t.match(resolvedPolicies({ facts }).policies, [{ tenants: new Set(['globex']) }]);
});

t.test('a reader can follow docs/tenants.md on Arktos', { skip }, async (t) => {
  const folder = t.testdir({});
  const testbed = await startTestbed(t, { folder, gitVersion: 'v0.9.0' });
  const port = await freePort();
  const tls = { certFile: 'tls.crt', keyFile: 'tls.key' };
  await prepareCrossTenant(testbed, {
    authorization: { crossTenantPolicies: true },
    configuration: {
      admission: { bind: `127.0.0.1:${port}`, tls, systemUsers: ['stonegate', 'provisioner'] },
    },
  });
  await registerServedWebhook(testbed, port);
  const stonegate = await serveStonegate(testbed.configFile);
  t.teardown(() => stonegate.stop());
  const url = `https://127.0.0.1:${stonegate.port}`;
  const kubeconfig = join(folder, 'kubeconfig');
  const place = { tenant: 'globex' };
  const writer = [
    rule('get,create,patch', 'crosstenantpolicies', 'tenancy.stonegate.dev'),
    rule('get,list,watch', 'pods'),
  ];
  testbed.apiServer.seed.clusterRole('writer', writer, place);
  testbed.apiServer.seed.clusterRoleBinding('writers', 'writer', ['user:globex:gina'], place);
  const gina = testbed.keystone.directory.user('globex', 'gina');
  const tokens = {
    'acme-alice': testbed.keystoneToken('alice'),
    'globex-bob': testbed.keystoneToken('bob'),
    'globex-gina': testbed.keystone.issue(gina),
  };
  writeFileSync(kubeconfig, contextsOf({ url, ca: testbed.authority.cert }, tokens), { mode: 0o600 });
  await followPage(t, {
    mode: 'arktos',
    folder,
    env: { KUBECONFIG: kubeconfig, OS_CLIENT_CONFIG_FILE: join(dirname(testbed.configFile), 'clouds.yaml') },
    replace: { 'https://stonegate.example.com:8443': url },
  });
});
