/** What `stonegate check` warns about before users notice. */
import t, { type Test } from 'tap';
import { check } from '../../src/app/commands/check.ts';
import type { JsonObject } from '../support/apiserver/json.ts';
import { prepareCrossTenant } from '../support/cross-tenant.ts';
import { eventually } from '../support/eventually.ts';
import { printedManifests, seedManifests } from '../support/manifests.ts';
import { printedBy } from '../support/printed-io.ts';
import { startStonegate } from '../support/stonegate.ts';
import { serveStonegate } from '../support/stonegate-process.ts';
import { type Mode, startTestbed, type Testbed } from '../support/testbed.ts';

const WEBHOOKS = 'validatingwebhookconfigurations';

const BOUND = /^warning: upstream\.server: the RoleBinding .*the admission webhook judges nothing in/m;
const CERTIFICATE = { certFile: 'apiserver.crt', keyFile: 'apiserver.key' };

async function warningsOf(t: Test, configFile: string) {
  const { code, stderr } = await printedBy(check, ['--config', configFile]);
  t.equal(code, 0, stderr);
  return stderr;
}

type Cluster = Testbed['apiServer']['cluster'];

/** Changes an object at the API server. @returns a function that changes it back */
function change(
  { store }: Cluster,
  resource: string,
  name: string,
  made: (object: JsonObject) => JsonObject,
) {
  const [found] = store.list({ resource, name });
  if (found === undefined) throw new Error(`no ${name}`);
  store.put(found.location, made(found.object));
  return () => store.put(found.location, found.object);
}

/** Removes the matching rules from Stonegate's role. @returns a function that restores them */
const withoutRules = (cluster: Cluster, rules: RegExp) =>
  change(cluster, 'clusterroles', 'stonegate-impersonator:stonegate', (object) => ({
    ...object,
    rules: Array.isArray(object.rules)
      ? object.rules.filter((rule) => !rules.test(JSON.stringify(rule)))
      : [],
  }));

for (const [mode, problem] of [
  ['arktos', 'the mode is shared, but the API server is Arktos (it has tenants in /api/v1)'],
  ['shared', 'the mode is arktos, but the API server is not Arktos (it has no tenants in /api/v1)'],
] satisfies [Mode, string][])
  t.test(`a mode for another API server than ${mode} fails check, and the start says so`, async (t) => {
    const testbed = await startTestbed(t, { mode });
    const run = () => printedBy(check, ['--config', testbed.configFile]);
    t.notMatch(await run(), { stderr: /tenancy\.mode/ });
    await testbed.configure({ tenancy: { mode: mode === 'arktos' ? 'shared' : 'arktos' } });
    const { code, stderr } = await run();
    t.equal(code, 1);
    t.match(stderr, `error: tenancy.mode: every request of a user fails: ${problem}. `);
    t.match(stderr, `Set ${mode}, `);
    const stonegate = await serveStonegate(testbed.configFile);
    t.teardown(() => stonegate.stop());
    await eventually(() => JSON.stringify(stonegate.logged).includes(`tenancy.mode: every request`));
  });

t.test('check warns if policies of tenants would have no effect', async (t) => {
  const testbed = await startTestbed(t);
  await prepareCrossTenant(testbed, { authorization: { crossTenantPolicies: true } });
  const { cluster } = testbed.apiServer;
  const run = () => warningsOf(t, testbed.configFile);
  const ofWebhook =
    /^warning: authorization\.crossTenantPolicies: .* so they grant nothing: apply .* admission`$/m;

  await t.test('not if nothing is missing', async (t) => t.notMatch(await run(), /olicies/));

  await t.test('without the webhook', async (t) => {
    const restore = change(cluster, WEBHOOKS, 'stonegate-policies', (object) => ({
      ...object,
      webhooks: [],
    }));
    t.match(await run(), ofWebhook);
    restore();
  });

  await t.test('without their definitions', async (t) => {
    const definitions = cluster.store.list({ resource: 'customresourcedefinitions' });
    const ours = definitions.filter(({ location: { name } }) => name.endsWith('.tenancy.stonegate.dev'));
    for (const { location } of ours) cluster.remove(location);
    t.match(
      await run(),
      /^warning: authorization: the API server has no crosstenantpolicies, so none .* manifests crds`$/m,
    );
    for (const { location, object } of ours) cluster.store.put(location, object);
  });

  await t.test('and reports its other findings if the webhooks cannot be listed', async (t) => {
    const restore = withoutRules(cluster, /userextras/);
    testbed.apiServer.breakNext('500', ({ url = '' }) => url.includes(WEBHOOKS));
    const warnings = await run();
    t.match(warnings, /^warning: upstream\.server: .* asked for its webhooks: .*500$/m);
    t.match(warnings, /^warning: upstream\.credential: may not impersonate the extra key/m);
    t.notMatch(warnings, ofWebhook);
    restore();
  });

  await t.test('without the right to list and watch them', async (t) => {
    const restore = withoutRules(cluster, /crosstenantpolicies/);
    const warnings = await run();
    t.match(
      warnings,
      /^warning: upstream\.credential: may not list crosstenantpolicies, watch crosstenantpolicies, so .* grant nothing/m,
    );
    t.notMatch(warnings, ofWebhook);
    restore();
  });
});

t.test(
  'check warns if a tenant’s group is bound in a namespace that the admission webhook skips',
  async (t) => {
    const testbed = await startTestbed(t, { mode: 'shared' });
    const { seed, cluster } = testbed.apiServer;
    const run = () => warningsOf(t, testbed.configFile);
    seed.roleBinding('leader', 'admin', ['user:system:kube-scheduler'], { namespace: 'kube-system' });
    seed.roleBinding('team', 'admin', ['group:stonegate:tenant:acme'], { namespace: 'default' });
    t.notMatch(await run(), BOUND);

    seed.roleBinding('agents', 'admin', ['user:ops', 'group:stonegate:tenant:acme'], {
      namespace: 'stonegate',
    });
    seed.roleBinding('agents', 'admin', ['group:stonegate:tenant:globex'], { namespace: 'kube-system' });
    const warnings = await run();
    t.match(
      warnings,
      /^warning: upstream\.server: the RoleBinding kube-system\/agents is for stonegate:tenant:globex: /m,
    );
    t.match(
      warnings,
      /^warning: upstream\.server: the RoleBinding stonegate\/agents is for stonegate:tenant:acme: /m,
    );

    withoutRules(cluster, /rolebindings/);
    t.notMatch(await run(), /tenant's group/, 'without admission the missing right is no problem');
    await testbed.configure({ admission: { tls: CERTIFICATE } });
    t.match(
      await run(),
      /^warning: upstream\.credential: may not list rolebindings, .* kube-system or stonegate/m,
    );
  },
);

for (const mode of ['arktos', 'shared'] satisfies Mode[])
  t.test(
    `${mode}: check warns if the API server does not let Stonegate keep the index complete`,
    async (t) => {
      const { configFile, apiServer } = await startStonegate(t, {
        mode,
        configuration: { access: { index: true } },
      });
      const run = () => warningsOf(t, configFile);
      t.notMatch(await run(), /RBAC index/);
      withoutRules(apiServer.cluster, /rolebindings|"tenants"/);
      const warnings = await run();
      t.match(
        warnings,
        /^warning: upstream\.credential: may not list roles, watch roles, .* so the RBAC index \(access\.index\) is never complete: apply the output of `stonegate manifests rbac --config FILE`$/m,
      );
      const ofTenants =
        /^warning: upstream\.credential: may not get tenants, so `kubectl get tenants` fails/m;
      if (mode === 'arktos') t.match(warnings, ofTenants);
      else t.notMatch(warnings, ofTenants);
    },
  );

t.test('check warns of quotas that limit nothing', async (t) => {
  const testbed = await startTestbed(t, { folder: t.testdir({ 'provisioner-token': 'secret' }) });
  await testbed.configure({
    bindings: { credential: { tokenFile: 'provisioner-token' } },
    quota: { default: { pods: '10' } },
  });
  const warnings = await warningsOf(t, testbed.configFile);
  t.match(warnings, /^warning: quota: the API server has no tenantquotas, so .* manifests crds`$/m);
  t.match(warnings, /^warning: quota: limits nothing by itself: add the section admission/m);
});

t.test('check warns if the API server asks no webhook about quotas', async (t) => {
  const testbed = await startTestbed(t, { mode: 'arktos' });
  await prepareCrossTenant(testbed, { configuration: { quota: { default: { pods: '10' } } } });
  t.match(
    await warningsOf(t, testbed.configFile),
    /^warning: quota: there is no ValidatingWebhookConfiguration stonegate-quota, so .* limit nothing/m,
  );
});

t.test('arktos: check names the tenants without the roles that members are given', async (t) => {
  const testbed = await startTestbed(t, { mode: 'arktos' });
  await prepareCrossTenant(testbed, { configuration: { access: { index: true }, members: {} } });
  const { seed } = testbed.apiServer;
  const roles = await printedManifests('roles', '--mode', 'arktos');
  seedManifests(seed, roles, {}, { tenant: 'globex' });
  t.match(
    await warningsOf(t, testbed.configFile),
    /^warning: members: there is no ClusterRole stonegate:edit in acme, so it cannot be granted: apply .* manifests roles .* as an administrator of the tenant$/m,
  );
  seedManifests(seed, roles, {}, { tenant: 'acme' });
  t.notMatch(await warningsOf(t, testbed.configFile), /ClusterRole/);
});
