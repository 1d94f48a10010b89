import { readFileSync } from 'node:fs';
import t from 'tap';
import { toStatus } from '../../../../src/errors/to-status.ts';
import { createPathBoundary } from '../../../../src/features/tenant-boundary/tenant-boundary.ts';
import { runAuthorizers } from '../../../../src/proxy/authorizer.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { askedExchange } from '../../../support/fake-exchange.ts';
import { claimIdentity } from '../../../support/identities.ts';

const boundary = createPathBoundary({ isSystem: (tenant) => tenant === 'system' });

async function ask(target: string, tenant = 'tenant1', username = `${tenant}:root`): Promise<void> {
  await runAuthorizers([boundary], {
    exchange: askedExchange(),
    info: readRequestInfo('GET', target, { hasTenantsInPaths: true }),
    identity: claimIdentity('alice'),
    user: { username, uid: '', groups: [], extra: {} },
    tenant: toTenantName(tenant),
    sender: { kind: 'stonegate' },
  });
}

/** The Status that a refusal becomes, without the causes that Stonegate adds. */
async function refusalOf(target: string) {
  const error: unknown = await ask(target).then(
    () => undefined,
    (refusal: unknown) => refusal,
  );
  const { status } = toStatus(error, 'audit-1');
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
    t.strictSame(await refusalOf(request.path), { ...rest, message: `${message}${owner}` });
  });
}

for (const target of [
  '/api/v1/tenants/tenant1/pods',
  '/api/v1/pods',
  '/api/v1/tenants/tenant2',
  '/version',
]) {
  t.test(`${target} reaches into no other tenant, and is allowed`, async (t) => {
    await t.resolves(ask(target));
  });
}

for (const target of [
  '/api/v1/tenants/tenant2/pods',
  '/api/v1/tenants/all/pods',
  '/api/v1/tenants/system/pods',
  '/api/v1/watch/tenants/tenant2/pods',
  '/apis/apps/v1/tenants/tenant2/namespaces/ns/deployments/d/scale',
]) {
  t.test(`${target} reaches into another tenant, and is refused`, async (t) => {
    await t.rejects(ask(target), { code: 'TenantForbidden', http: 403 });
  });
}

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
  await t.resolves(ask('/api/v1/tenants/tenant2/pods', 'system', 'system:stonegate:root'));
});
