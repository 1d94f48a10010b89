import t from 'tap';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { discoveryChange } from '../../../src/tenancy/discovery-paths.ts';
import { createSharedMode } from '../../../src/tenancy/shared.ts';
import { isTenantName } from '../../../src/tenancy/tenant-name.ts';

const arktos = createArktosMode({ systemTenant: 'system', domains: {} });
const shared = createSharedMode({ domains: {}, reservedNamePrefixes: [] });
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';

function changeOf(mode: typeof arktos, tenant: string, method: string, path: string) {
  if (!isTenantName(tenant)) throw new TypeError(tenant);
  return discoveryChange(readRequestInfo(method, path, mode.facts), tenant, mode);
}

for (const [method, path] of [
  ['POST', CRDS],
  ['PUT', `${CRDS}/a.b.io`],
  ['PATCH', `${CRDS}/a.b.io`],
  ['PATCH', `${CRDS}/a.b.io/status`],
  ['DELETE', `${CRDS}/a.b.io`],
  ['DELETE', CRDS],
  ['POST', SERVICES],
  ['POST', CRDS.replace('/v1/', '/v1beta1/')],
  ['POST', CRDS.replace('/v1/', '/v1/tenants/acme/')],
] as const)
  t.test(`${method} ${path} in a tenant changes discovery for that tenant`, async (t) =>
    t.same(changeOf(arktos, 'acme', method, path), { owner: 'acme' }),
  );

t.test(
  'a write in the system tenant changes discovery for every tenant, one in a tenant only for that tenant',
  async (t) => {
    t.same(changeOf(arktos, 'system', 'POST', CRDS), { owner: undefined });
    t.same(changeOf(arktos, 'system', 'POST', CRDS.replace('/v1/', '/v1/tenants/acme/')), { owner: 'acme' });
  },
);

t.test('without tenants, discovery is forwarded and not cached, so no write matters', async (t) =>
  t.equal(changeOf(shared, 'acme', 'DELETE', `${CRDS}/a.b.io`), undefined),
);

t.test('reads, and writes of other objects, do not change discovery', async (t) => {
  for (const [method, path] of [
    ['GET', CRDS],
    ['GET', `${CRDS}?watch=1`],
    ['POST', '/api/v1/namespaces/default/pods'],
    ['POST', '/apis/example.io/v1/customresourcedefinitions'],
    ['GET', '/apis'],
  ] as const)
    t.equal(changeOf(arktos, 'acme', method, path), undefined, `${method} ${path}`);
});
