import { readFileSync } from 'node:fs';
import t from 'tap';
import { toStatus } from '../../../../src/errors/to-status.ts';
import { createPathBoundary } from '../../../../src/features/tenant-boundary/tenant-boundary.ts';
import { refusalOf as refusedBy } from '../../../support/authorized.ts';
import { linesOf } from '../../../support/rows.ts';

const boundary = createPathBoundary({ isSystem: (tenant) => tenant === 'system' });
const ask = (target: string, tenant = 'tenant1') => refusedBy(boundary, target, { tenant });

/** The Status that a refusal becomes, without the causes that Stonegate adds. */
async function refusalOf(target: string) {
  const { status } = toStatus(await ask(target), 'audit-1');
  const { causes, ...details } = status.details ?? {};
  return { ...status, details };
}

for (const [file, owner] of [
  ['cross-tenant-forbidden', ''],
  ['cross-tenant-namespaced-forbidden', ' of the tenant "tenant2"'],
] as const) {
  t.test(`${file}: the refusal is the API server's, and names the tenant`, async (t) => {
    const url = new URL(`../../../conformance/arktos/recorded/${file}.json`, import.meta.url);
    const { request, response } = JSON.parse(readFileSync(url, 'utf8'));
    const { message, ...rest } = response.body;
    t.strictSame(await refusalOf(request.path), {
      ...rest,
      message: `${message.replace('tenant1:root', 'tenant1:alice')}${owner}`,
    });
  });
}

t.test('a path into no other tenant is allowed', async (t) => {
  for (const target of [
    '/api/v1/tenants/tenant1/pods',
    '/api/v1/pods',
    '/api/v1/tenants/tenant2',
    '/version',
  ])
    t.equal(await ask(target), undefined, target);
});

t.test('a path into another tenant is refused', async (t) => {
  for (const target of linesOf(`
    /api/v1/tenants/tenant2/pods
    /api/v1/tenants/all/pods
    /api/v1/tenants/system/pods
    /api/v1/watch/tenants/tenant2/pods
    /apis/apps/v1/tenants/tenant2/namespaces/ns/deployments/d/scale`))
    t.match(await ask(target), { code: 'TenantForbidden', http: 403 }, target);
});

t.test('C160 C161 a tenant that exists, one that does not exist and "all" are refused alike', async (t) => {
  for (const below of ['pods', 'namespaces/default/pods/web']) {
    const refusals = await Promise.all(
      ['tenant2', 'ghost', 'all'].map(async (name) => {
        const { message, ...rest } = await refusalOf(`/api/v1/tenants/${name}/${below}`);
        t.match(message, new RegExp(` the tenant "${name}"$`));
        return { ...rest, message: message.replace(name, '') };
      }),
    );
    for (const refusal of refusals) t.strictSame(refusal, refusals[0]);
  }
});

t.test('a user of the system tenant may act in every tenant', async (t) => {
  t.equal(await ask('/api/v1/tenants/tenant2/pods', 'system'), undefined);
});
