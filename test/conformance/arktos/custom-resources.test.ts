/**
 * The stand-in responds about custom resources as a real Arktos did: definitions that are forced on every
 * tenant, and the scopes `Tenant` and `Cluster`. Schemas are not compared, since the stand-in prunes nothing.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { type ApiServer, createApiServer } from '../../support/apiserver/api-server.ts';
import { isObject, type JsonObject, objectAt, textAt } from '../../support/apiserver/json.ts';
import { rule } from '../../support/policy-rule.ts';
import { ask } from './wire.ts';

interface Recording {
  readonly request: { method: string; path: string; headers: [string, string][]; body: JsonObject | null };
  readonly response: { status: number; headers: [string, string][]; body: unknown };
}

async function startCluster(): Promise<ApiServer> {
  const server = await createApiServer({
    flavour: 'arktos',
    tokens: { admin: { username: 'admin', groups: ['system:masters'] }, proxy: { username: 'proxy' } },
  });
  const { seed } = server;
  seed.clusterRole('impersonator', [rule('impersonate', 'users,groups')]);
  seed.clusterRoleBinding('impersonator', 'impersonator', ['user:proxy']);
  for (const [tenant, user] of Object.entries({ acme: 'alice', globex: 'gina' })) {
    seed.tenant(tenant);
    seed.clusterRoleBinding('admins', 'admin-role', [`user:${tenant}:${user}`], { tenant });
  }
  return server;
}

const shared = { group: 'shared.io', plural: 'requests', kind: 'Request', scope: 'Namespaced' } as const;
const EXAMPLE = { group: 'example.com' } as const;

/** Creates the objects that each exchange requires. */
const SEEDS: Readonly<Record<string, (server: ApiServer) => void>> = {
  'crd-forced-create': () => undefined,
  'crd-list-in-tenant': ({ seed }) => {
    seed.customResource({ ...shared, sharing: 'forced' });
    seed.customResource({ ...shared, plural: 'fakes', kind: 'Fake', sharing: 'forced' }, { tenant: 'acme' });
    seed.customResource({ ...shared, plural: 'hiddens', kind: 'Hidden', sharing: 'Forced' });
  },
  'crd-forced-delete-by-tenant': ({ seed }) => seed.customResource({ ...shared, sharing: 'forced' }),
  'discovery-forced-crd-in-tenant': ({ seed }) => seed.customResource({ ...shared, sharing: 'forced' }),
  'forced-cr-create-in-tenant': ({ seed }) => seed.customResource({ ...shared, sharing: 'Forced' }),
  'tenant-scope-cr-create': ({ seed }) =>
    seed.customResource({ ...shared, plural: 'quotas', kind: 'Quota', scope: 'Tenant', sharing: 'forced' }),
  'cluster-cr-shared-between-tenants': ({ seed }) => {
    const gadgets = { ...EXAMPLE, plural: 'gadgets', kind: 'Gadget', scope: 'Cluster' } as const;
    for (const tenant of ['acme', 'globex']) seed.customResource(gadgets, { tenant });
    seed.object('example.com/v1/gadgets', 'g1', { spec: { owner: 'acme' } }, { tenant: 'acme' });
  },
  'cluster-crd-reads-other-tenants-namespaced-crs': ({ seed }) => {
    const secrets = { ...EXAMPLE, plural: 'secrets', kind: 'Sec' } as const;
    seed.customResource({ ...secrets, scope: 'Namespaced' }, { tenant: 'globex' });
    seed.customResource({ ...secrets, scope: 'Cluster' }, { tenant: 'acme' });
    seed.object('example.com/v1/secrets', 's1', { spec: { pw: 'globex' } }, { tenant: 'globex' });
  },
};

for (const [name, seed] of Object.entries(SEEDS))
  t.test(name, async (t) => {
    const server = await startCluster();
    t.teardown(() => server.close());
    seed(server);
    const recording: Recording = JSON.parse(
      readFileSync(new URL(`recorded-custom-resources/${name}.json`, import.meta.url), 'utf8'),
    );
    const { request, response } = recording;
    const answer = await ask(server.url, {
      method: request.method,
      path: request.path,
      headers: request.headers.map(([key, value]) => [key, value.replace(/^Bearer <(.*)>$/, 'Bearer $1')]),
      body: request.body ?? undefined,
    });
    t.equal(answer.status, response.status, 'status');
    t.equal(
      answer.contentType,
      response.headers.find(([key]) => key.toLowerCase() === 'content-type')?.[1],
      'content type',
    );
    t.same(essence(textOrJSON(answer.body)), essence(response.body), 'body');
  });

t.test('every tenant’s list of API groups includes those of the system tenant, forced or not', async (t) => {
  const server = await startCluster();
  t.teardown(() => server.close());
  server.seed.customResource({ ...shared, sharing: 'forced' });
  server.seed.customResource({ ...shared, group: 'ops.io', plural: 'hiddens', kind: 'Hidden' });
  server.seed.customResource({ ...shared, plural: 'own', kind: 'Own' }, { tenant: 'acme' });
  const get = (path: string) =>
    ask(server.url, { method: 'GET', path, headers: [['Authorization', 'Bearer proxy']], body: undefined });
  const groups = JSON.parse((await get('/apis?tenant=acme')).body).groups;
  t.match(
    groups.map(({ name }: { name: string }) => name),
    /shared\.io.*ops\.io/,
  );
  t.match(JSON.parse((await get('/apis/shared.io?tenant=acme')).body).versions, [
    { version: 'v1' },
    { version: 'v1' },
  ]);
  t.equal((await get('/apis/ops.io/v1?tenant=acme')).status, 404);
  const { resources } = JSON.parse((await get('/apis/shared.io/v1?tenant=acme')).body);
  t.match(resources, [{ name: 'own' }, { name: 'own/status' }]);
  t.equal(resources.length, 2);
});

t.test('deleting a definition of scope Cluster deletes the objects of every tenant', async (t) => {
  const server = await startCluster();
  t.teardown(() => server.close());
  SEEDS['cluster-cr-shared-between-tenants']?.(server);
  const path = '/apis/apiextensions.k8s.io/v1/tenants/acme/customresourcedefinitions/gadgets.example.com';
  const headers = [['Authorization', 'Bearer admin']] as const;
  t.equal((await ask(server.url, { method: 'DELETE', path, headers, body: undefined })).status, 200);
  const rest = '/apis/example.com/v1/tenants/globex/gadgets/g1';
  t.equal((await ask(server.url, { method: 'GET', path: rest, headers, body: undefined })).status, 404);
});

function textOrJSON(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/**
 * The metadata and scope of objects, or a refusal word for word. Self links are left out, since the server
 * computes them for each response.
 */
function essence(body: unknown): unknown {
  if (!isObject(body)) return body;
  if (body.kind === 'Status') return body;
  if (Array.isArray(body.items)) return { kind: body.kind, items: body.items.filter(isObject).map(essence) };
  const { name, namespace, tenant, labels } = objectAt(body, 'metadata');
  return { metadata: { name, namespace, tenant, labels }, scope: textAt(objectAt(body, 'spec'), 'scope') };
}
