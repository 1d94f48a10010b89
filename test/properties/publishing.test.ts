/**
 * Whatever is annotated and whatever objects tenants have: only copies are changed, a copy contains nothing
 * that ties it to its source, and a second run changes nothing.
 */
import fc from 'fast-check';
import t from 'tap';
import { PUBLISHED, PUBLISHED_FROM, PUBLISHED_POLICY } from '../../src/kubernetes/published-objects.ts';
import type { Stored } from '../support/memory-objects.ts';
import {
  kindOf,
  type Mode,
  type PublishingSite,
  publish,
  publishingSite,
} from '../support/memory-published.ts';

const RBAC = 'rbac.authorization.k8s.io';
const names = fc.constantFrom('shared-a', 'shared-b', 'system:x', 'kube-root-ca.crt');
const resources = fc.constantFrom(
  'configmaps',
  'secrets',
  'serviceaccounts',
  'roles',
  'rolebindings',
  'clusterroles',
  'clusterrolebindings',
  'customresourcedefinitions',
);
const selectors = fc.oneof(
  fc.constantFrom(
    'all',
    'acme',
    'globex',
    'acme,globex',
    'region=eu',
    'stonegate.dev/region=eu',
    'ghost',
    '',
  ),
  fc.string({ maxLength: 12 }),
);
const policies = fc.constantFrom(undefined, undefined, 'LocalFirst', 'SystemFirst', 'systemfirst');
const keys = fc.constantFrom(
  'app',
  'stonegate.dev/x',
  'x.stonegate.dev/y',
  'multi-tenancy.k8s.io/z',
  'a.io/b',
);
const texts = fc.constantFrom('x', 'y');
const rules = fc.array(
  fc.record({
    apiGroups: fc.constantFrom([''], ['*'], []),
    resources: fc.constantFrom(['pods'], ['nodes'], ['*']),
    verbs: fc.constantFrom(['get'], ['*']),
  }),
  { maxLength: 2 },
);
const subjects = fc.array(
  fc.record({
    kind: fc.constantFrom('User', 'Group'),
    name: fc.constantFrom('acme:alice', 'system:masters', 'stonegate:guest', 'team'),
  }),
  { maxLength: 2 },
);

const fields = fc.record({
  data: fc.dictionary(fc.constantFrom('a', 'b'), texts),
  type: fc.constantFrom('Opaque', 'kubernetes.io/service-account-token', 'helm.sh/release.v1'),
  rules,
  roleRef: fc.record({
    apiGroup: fc.constant(RBAC),
    kind: fc.constantFrom('Role', 'ClusterRole'),
    name: fc.constantFrom('shared-a', 'shared-b', 'stonegate:read', 'admin-role'),
  }),
  subjects,
  spec: fc.record({
    scope: fc.constantFrom('Namespaced', 'Tenant', 'Cluster'),
    group: fc.constant('example.com'),
    names: fc.constant({ plural: 'things' }),
  }),
  status: fc.constant({ phase: 'x' }),
});

const object = fc.record({
  resource: resources,
  name: names,
  fields,
  labels: fc.dictionary(keys, texts),
  annotations: fc.dictionary(keys, texts),
});
const source = fc.record({ object, selector: selectors, policy: policies });
const worlds = fc.record({
  mode: fc.constantFrom<Mode>('arktos', 'shared'),
  sources: fc.array(source, { maxLength: 8 }),
  own: fc.array(fc.record({ object, tenant: fc.constantFrom('acme', 'globex') }), { maxLength: 5 }),
});

type World = typeof worlds extends fc.Arbitrary<infer T> ? T : never;

function siteOf({ mode, sources, own }: World): PublishingSite {
  const site = publishingSite({ mode });
  site.tenant('acme', { region: 'eu', 'stonegate.dev/region': 'eu' });
  for (const { object, selector, policy } of sources) {
    const kind = kindOf(object.resource);
    if (mode === 'shared' && !kind.namespaced) continue;
    site.publish(object.resource, object.name, object.fields, selector, {
      labels: object.labels,
      annotations: { ...object.annotations, ...(policy !== undefined && { [PUBLISHED_POLICY]: policy }) },
      ownerReferences: [{ name: 'owner' }],
      finalizers: ['example.com/own'],
    });
  }
  for (const { object, tenant } of own) {
    const kind = kindOf(object.resource);
    if (mode === 'shared' && !kind.namespaced) continue;
    const place =
      mode === 'arktos' ? { tenant, ...(kind.namespaced && { namespace: 'shared' }) } : { namespace: tenant };
    if (mode === 'arktos')
      site.objects.put(kindOf('namespaces'), { tenant }, { metadata: { name: 'shared' } });
    site.objects.put(kind, place, { ...object.fields, metadata: { name: object.name } });
  }
  return site;
}

const isCopy = ({ object }: Stored) => object.metadata.labels?.[PUBLISHED_FROM] !== undefined;
const text = (stored: readonly Stored[]) =>
  JSON.stringify(stored.map(({ kind, place, object }) => [kind.resource, place, object]));

t.test('an object of a tenant is not changed unless its source has the policy SystemFirst', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const sources = world.sources.filter(({ policy }) => policy !== 'SystemFirst');
      const site = siteOf({ ...world, sources });
      const before = text(site.objects.all());
      await publish(site);
      const isMade = ({ kind, object }: Stored) =>
        kind.resource === 'namespaces' &&
        object.metadata.labels?.['stonegate.dev/managed-by'] === 'stonegate' &&
        object.metadata.labels['stonegate.dev/project-id'] === undefined;
      return text(site.objects.all().filter((one) => !isCopy(one) && !isMade(one))) === before;
    }),
  );
});

t.test('a second run changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const site = siteOf(world);
      const first = await publish(site);
      const { plan } = await publish(site);
      return first.applied.failures.length === 0 && plan.changes.length === 0;
    }),
  );
});

t.test(
  'a copy contains nothing that ties it to its source, and nothing that is never published',
  async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const site = siteOf(world);
        await publish(site);
        return site.objects
          .all()
          .filter(isCopy)
          .every(({ kind, object }) => {
            const { metadata, ...content } = object;
            const { labels = {}, annotations = {} } = metadata;
            const foreign = [...Object.keys(labels), ...Object.keys(annotations)].filter((key) =>
              /(^|\.)(stonegate\.dev|multi-tenancy\.k8s\.io)\//.test(key),
            );
            const allowed = ['managed-by', 'published-from', 'published-source'].map(
              (name) => `stonegate.dev/${name}`,
            );
            const said = JSON.stringify(content);
            return (
              metadata.ownerReferences === undefined &&
              metadata.finalizers === undefined &&
              content.status === undefined &&
              foreign.every((key) => allowed.includes(key)) &&
              !metadata.name.startsWith('system:') &&
              !(kind.resource === 'secrets' && content.type !== 'Opaque') &&
              !(metadata.tenant === 'system') &&
              !(kind.resource.endsWith('roles') && /"\*"|nodes/.test(JSON.stringify(object.rules))) &&
              !(kind.resource.endsWith('bindings') && /system:masters|stonegate:guest|admin-role/.test(said))
            );
          });
      }),
    );
  },
);

t.test('a run after a source was deleted deletes exactly its copies', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, fc.nat(), async (world, choice) => {
      const site = siteOf({ ...world, own: [] });
      // Roles and bindings are left, since bindings depend on roles: copies of only one kind must disappear.
      const removable = site.objects
        .all()
        .filter(
          ({ kind, place, object }) =>
            object.metadata.annotations?.[PUBLISHED] !== undefined &&
            place.namespace === 'shared' &&
            !kind.resource.startsWith('role'),
        );
      const removed = removable[choice % Math.max(1, removable.length)];
      if (removed === undefined) return true;
      await publish(site);
      const before = site.objects.all().filter(isCopy);
      const { kind, place, object } = removed;
      site.objects.drop(kind, place, object.metadata.name);
      await publish(site);
      const left = before.filter(
        (one) => !(one.kind.resource === kind.resource && one.object.metadata.name === object.metadata.name),
      );
      return text(site.objects.all().filter(isCopy)) === text(left);
    }),
  );
});
