/** What keeps policies from being in force at the API server is told before users notice. */
import t from 'tap';
import { check } from '../../src/app/commands/check.ts';
import type { JsonObject } from '../support/apiserver/json.ts';
import { prepareCrossTenant } from '../support/cross-tenant.ts';
import { printedIO } from '../support/printed-io.ts';
import { createTestbed } from '../support/testbed.ts';

const WEBHOOKS = 'validatingwebhookconfigurations';

t.test('check warns if policies of tenants cannot count', async (t) => {
  const testbed = await createTestbed({ folder: t.testdir() });
  t.teardown(() => testbed.close());
  await prepareCrossTenant(testbed, { authorization: { crossTenantPolicies: true } });
  const { cluster } = testbed.apiServer;
  const run = async () => {
    const { io, printed } = printedIO();
    t.equal(await check(['--config', testbed.configFile], io), 0);
    return printed.stderr;
  };
  const change = (resource: string, name: string, made: (object: JsonObject) => JsonObject) => {
    const [found] = cluster.store.list({ resource, name });
    if (found === undefined) throw new Error(`no ${name}`);
    cluster.store.put(found.location, made(found.object));
    return () => cluster.store.put(found.location, found.object);
  };
  const withoutRules = (resource: string) =>
    change('clusterroles', 'stonegate-impersonator', (object) => ({
      ...object,
      rules: Array.isArray(object.rules)
        ? object.rules.filter((rule) => !JSON.stringify(rule).includes(resource))
        : [],
    }));
  const ofWebhook =
    /^warning: authorization\.crossTenantPolicies: .* so they grant nothing: apply .* admission`$/m;

  await t.test('not if all is there', async (t) => {
    t.notMatch(await run(), /olicies/);
  });

  await t.test('without the webhook', async (t) => {
    const restore = change(WEBHOOKS, 'stonegate-policies', (object) => ({ ...object, webhooks: [] }));
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

  await t.test('and tells what else it found if the webhooks cannot be listed', async (t) => {
    const restore = withoutRules('userextras');
    testbed.apiServer.breakNext('500', ({ url = '' }) => url.includes(WEBHOOKS));
    const warnings = await run();
    t.match(warnings, /^warning: upstream\.server: .* asked for its webhooks: .*500$/m);
    t.match(warnings, /^warning: upstream\.credential: may not impersonate the extra key/m);
    t.notMatch(warnings, ofWebhook);
    restore();
  });

  await t.test('without the right to list and watch them', async (t) => {
    const restore = withoutRules('crosstenantpolicies');
    const warnings = await run();
    t.match(
      warnings,
      /^warning: upstream\.credential: may not list crosstenantpolicies, watch crosstenantpolicies, so .* grant nothing/m,
    );
    t.notMatch(warnings, ofWebhook);
    restore();
  });

  await t.test('not if the configuration does not have them', async (t) => {
    const restore = change(WEBHOOKS, 'stonegate-policies', (object) => ({ ...object, webhooks: [] }));
    await testbed.configure({});
    t.notMatch(await run(), /olicies/);
    restore();
  });
});
