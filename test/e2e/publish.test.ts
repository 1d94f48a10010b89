/** Objects of the system tenant are copied into all tenants of an Arktos, by command and while serving. */
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import type { JsonObject } from '../support/apiserver/json.ts';
import { admitPublisher } from '../support/publisher.ts';
import { createTestbed } from '../support/testbed.ts';

const PUBLISHED = 'multi-tenancy.k8s.io/published';
const HOME = { tenant: 'system', namespace: 'shared' };
const SECRET = { type: 'Opaque', data: { password: 'c2VjcmV0' } };
const SECTION: Record<string, object> = parse(`
  namespaces: [shared]
  clusterScoped:
    - {resource: clusterroles, names: shared-*}
    - {resource: clusterrolebindings, names: shared-*}
    - {resource: customresourcedefinitions, names: '*.example.com'}
  interval: 1h`);

async function setUp(t: Test) {
  const testbed = await createTestbed({ folder: t.testdir(), mode: 'arktos' });
  const { apiServer } = testbed;
  const publisher = await admitPublisher(testbed, SECTION);
  apiServer.seed.namespace('shared', { tenant: 'system' });
  const { store } = apiServer.cluster;
  const find = (group: string, resource: string, tenant: string, namespace: string, name: string) =>
    store.get({ tenant, group, resource, namespace, name });
  return {
    ...testbed,
    ...publisher,
    store,
    secret: (tenant: string, name = 'registry') => find('', 'secrets', tenant, 'shared', name),
    find,
    put(resource: string, name: string, body: JsonObject, annotation: string | undefined = 'all') {
      const metadata = { annotations: annotation === undefined ? {} : { [PUBLISHED]: annotation } };
      apiServer.seed.object(resource, name, { metadata, ...body }, HOME);
    },
  };
}

t.test('each tenant has a copy in the namespace of the same name', async (t) => {
  const site = await setUp(t);
  t.teardown(() => site.close());
  site.put('v1/secrets', 'registry', SECRET);
  const dry = await site.publish('--dry-run');
  t.match(dry, { code: 0, stdout: /create +Namespace +acme +shared/ });
  t.match(dry.stdout, /create +Secret +acme\/shared +registry +secrets\/shared\/registry/);
  t.equal(site.secret('acme'), undefined, 'a dry run changes nothing');
  t.match(await site.publish(), { code: 0, stdout: / 0 failed/ });
  for (const tenant of ['acme', 'globex'])
    t.match(site.secret(tenant), {
      ...SECRET,
      metadata: { tenant, annotations: { 'stonegate.dev/published-source': 'secrets/shared/registry' } },
    });
  t.match(await site.publish(), { code: 0, stdout: /^0 done, 0 failed, 2 as they should be/ });
});

t.test(
  'a tenant’s definition is not overwritten, unless the system tenant’s has the policy SystemCRDFirst',
  async (t) => {
    const site = await setUp(t);
    t.teardown(() => site.close());
    const definition = (version: string, group = 'example.com') => ({
      spec: {
        group,
        version,
        versions: [{ name: version, served: true, storage: true }],
        names: { plural: 'things', singular: 'thing', kind: 'Thing' },
        scope: 'Namespaced',
      },
    });
    const resource = 'apiextensions.k8s.io/v1beta1/customresourcedefinitions';
    const name = 'things.example.com';
    site.apiServer.seed.object(resource, name, definition('v1'), { tenant: 'acme' });
    site.put(resource, name, definition('v2'));
    const versionIn = (tenant: string) =>
      site.find('apiextensions.k8s.io', 'customresourcedefinitions', tenant, '', name)?.spec;
    t.match(
      (await site.publish()).stderr,
      /refused: CustomResourceDefinition things.example.com in acme: .*not overwritten/,
    );
    t.match(versionIn('acme'), { version: 'v1' });
    t.match(versionIn('globex'), { version: 'v2' });
    const annotations = { [PUBLISHED]: 'all', [`${PUBLISHED}-policy`]: 'SystemCRDFirst' };
    site.put(resource, name, { ...definition('v2'), metadata: { annotations } });
    t.match(await site.publish(), { code: 0 });
    t.match(versionIn('acme'), { version: 'v2' });
  },
);

t.test('all copies can be deleted by command', async (t) => {
  const site = await setUp(t);
  t.teardown(() => site.close());
  site.put('v1/secrets', 'registry', SECRET);
  await site.publish();
  t.match(await site.publish('--remove', '--dry-run'), { code: 0, stdout: /2 to delete/ });
  t.match(await site.publish('--remove'), { code: 0, stdout: /^\[1\/2\] delete/ });
  t.equal(site.secret('acme'), undefined);
});
