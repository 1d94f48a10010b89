import { readFileSync } from 'node:fs';
import t from 'tap';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { CLUSTER_SCOPED } from '../../../src/tenancy/arktos-route.ts';
import {
  groupListSchema,
  type ResourceNames,
  reduceResources,
  resourceListSchema,
} from '../../../src/tenancy/reduce-discovery.ts';

/** A recorded document's resources, as [name, tenanted]. */
function recorded(file: string): { groupVersion: string; resources: { name: string; tenanted: boolean }[] } {
  const url = new URL(`../../conformance/arktos/recorded/${file}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8')).response.body;
}

t.test(
  'a readable cluster-scoped resource stays with the verbs that work, without its subresources',
  async (t) => {
    const mode = createArktosMode({ systemTenant: 'system', domains: {}, showsOwnTenant: true });
    const list = recorded('discovery-api-v1');
    const shown = reduceResources(list, mode.hiddenResources, mode.readableResources);
    const tenants = shown.resources.filter(({ name }) => name.startsWith('tenants'));
    t.match(tenants, [{ name: 'tenants', kind: 'Tenant', shortNames: ['te'], verbs: ['get', 'list'] }]);
    t.equal(tenants.length, 1);
    t.notOk(shown.resources.some(({ name }) => name.startsWith('nodes')));
  },
);

t.test('a resource of the same name in another group stays', async (t) =>
  t.strictSame(names({ groupVersion: 'example.com/v1', resources: [{ name: 'nodes' }] }), ['nodes']),
);

t.test('an empty list may be null, as Go writes it', async (t) => {
  t.strictSame(resourceListSchema.parse({ groupVersion: 'v1', resources: null }), {
    groupVersion: 'v1',
    resources: [],
  });
  t.strictSame(groupListSchema.parse({ groups: null }), { groups: [] });
});

t.test(
  'exactly the resources that a real server calls cluster-scoped in the core group are removed',
  async (t) => {
    const list = recorded('discovery-api-v1');
    const tenanted = list.resources.filter((resource) => resource.tenanted).map(({ name }) => name);
    t.strictSame(names(list), tenanted);
  },
);

t.test('a tenant’s own cluster-scoped custom resource stays, although it says tenanted: false', async (t) =>
  t.match(names(recorded('discovery-example-com-v1')), [
    'widgets',
    'widgets/status',
    'gadgets',
    'gadgets/status',
  ]),
);

function names(list: ResourceNames) {
  return reduceResources(list, CLUSTER_SCOPED).resources.map(({ name }) => name);
}
