/**
 * A user whom a policy lets in enters another tenant with a path prefix, as a guest with the rights that
 * the policy allows. Otherwise the response is the same for every tenant.
 */
import { PassThrough } from 'node:stream';
import t from 'tap';
import { createHideForbidden } from '../../../src/features/hide-forbidden/build.ts';
import type { HeaderList } from '../../../src/lib/header-list.ts';
import { headerValue, headerValues } from '../../../src/lib/header-list.ts';
import type { ResponseHook } from '../../../src/proxy/feature.ts';
import { accessIndexOf } from '../../support/access-index.ts';
import { guestPipeline, readPods } from '../../support/guests.ts';
import { rule } from '../../support/policy-rule.ts';

const PODS = '/tenants/globex/api/v1/namespaces/web/pods';
const withoutAuditID = (text: string) => text.replace(/[0-9a-f-]{36}/, '');
const identityOf = (headers: HeaderList = []) =>
  headers.filter(([name]) => name.toLowerCase().startsWith('impersonate-'));

t.test('D318 a guest reads what the policy allows, with the full path and under a guest name', async (t) => {
  const { ask, pipeline } = guestPipeline();
  const exchange = await ask('alice', `${PODS}?limit=5`);
  t.equal(exchange.response.status, 200);
  const [request] = pipeline.sent;
  t.equal(request?.target, '/api/v1/tenants/globex/namespaces/web/pods?limit=5');
  t.same(identityOf(request?.headers), [
    ['Impersonate-User', 'globex:guest:acme:alice'],
    ['Impersonate-Group', 'stonegate:guest'],
    ['Impersonate-Group', 'stonegate:guest:acme'],
    ['Impersonate-Group', 'stonegate:policy:tenant:auditors'],
  ]);
});

t.test(
  'D318 the policy is the upper limit: nothing else is allowed, whatever the tenant binds',
  async (t) => {
    const { ask, pipeline } = guestPipeline();
    const exchange = await ask('alice', PODS, { method: 'POST', body: '{}' });
    t.equal(exchange.response.status, 403);
    t.match(exchange.response.json(), {
      reason: 'Forbidden',
      message:
        'pods is forbidden: User "globex:guest:acme:alice" cannot create resource "pods" in API group "" in the namespace "web"',
    });
    t.same(pipeline.sent, []);
  },
);

t.test('D317 admission to a tenant gives a user no right beyond the rules of the policy', async (t) => {
  const { status, pipeline } = guestPipeline([readPods({ rules: [] })]);
  t.equal(await status('alice', PODS), 403);
  t.same(pipeline.sent, []);
});

t.test('D321 without a policy the response is the same, whether the tenant exists or not', async (t) => {
  const { ask, pipeline, fetched, reviews } = guestPipeline();
  const bodies = new Set<string>();
  for (const tenant of ['globex', 'nowhere', 'system', 'all']) {
    const { response } = await ask('alice', `/tenants/${tenant}/api/v1/namespaces/web/secrets`, {
      headers: [['X-Any', tenant]],
    });
    t.equal(response.status, 403);
    // A policy lets alice into globex, but only for pods.
    if (tenant === 'globex') continue;
    t.match(response.json(), { message: new RegExp(` in the namespace "web" of the tenant "${tenant}"$`) });
    bodies.add(withoutAuditID(response.text).replaceAll(tenant, 'TENANT'));
  }
  t.equal(bodies.size, 1);
  t.same([pipeline.sent, fetched, reviews], [[], [], []], 'no request is sent to the API server');
});

t.test('D321 the refusal reveals nothing about a tenant that lets other users in', async (t) => {
  const { ask } = guestPipeline();
  const bodies = new Set<string>();
  for (const tenant of ['globex', 'nowhere'])
    for (const path of ['api/v1/namespaces/web/pods', 'apis']) {
      const { response } = await ask('colons', `/tenants/${tenant}/${path}`);
      t.match(response.json(), { message: new RegExp(` of the tenant "${tenant}"$`) });
      bodies.add(`${path} ${withoutAuditID(response.text).replaceAll(tenant, 'TENANT')}`);
    }
  t.equal(bodies.size, 2);
});

t.test('without configured policies no user enters any tenant', async (t) => {
  for (const policies of [[], 'none'] as const) {
    const { status, pipeline } = guestPipeline(policies);
    t.equal(await status('alice', PODS), 403);
    t.same(pipeline.sent, []);
  }
});

t.test('no policy lets a user into the system tenant or into the tenant "all"', async (t) => {
  for (const tenant of ['system', 'all']) {
    const { status, pipeline } = guestPipeline([readPods({ tenants: new Set([tenant]) })]);
    t.equal(await status('alice', `/tenants/${tenant}/api/v1/pods`), 403);
    t.same(pipeline.sent, []);
  }
});

t.test("the prefix of the user's own tenant changes nothing", async (t) => {
  const { ask, pipeline } = guestPipeline();
  await ask('alice', '/tenants/acme/api/v1/namespaces/web/secrets');
  await ask('alice', '/api/v1/namespaces/web/secrets');
  await ask('root', '/tenants/system/api/v1/tenants/globex/pods');
  const [below, without, root] = pipeline.sent;
  t.equal(below?.target, '/api/v1/tenants/acme/namespaces/web/secrets');
  t.equal(without?.target, below?.target);
  t.same(identityOf(below?.headers), identityOf(without?.headers));
  t.same(root, undefined, 'a path below the prefix of system that names another tenant is refused');
});

t.test(
  'a system user without a grant enters no tenant by the prefix, but any tenant by the full path',
  async (t) => {
    const { ask, pipeline, status } = guestPipeline();
    t.equal(await status('root', PODS), 403);
    await ask('root', '/api/v1/tenants/globex/pods');
    t.same(
      pipeline.sent.map(({ target }) => target),
      ['/api/v1/tenants/globex/pods'],
    );
  },
);

t.test(
  'a system administrator with a grant is a guest, without the rights of the system tenant',
  async (t) => {
    const admins = readPods({
      form: 'administration',
      name: 'eu',
      subjects: [{ tenant: 'system', user: 'root' }],
    });
    const { ask, pipeline, status } = guestPipeline([admins]);
    await ask('root', '/tenants/globex/api/v1/pods');
    t.equal(await status('root', '/tenants/globex/api/v1/tenants/acme/pods'), 400);
    const [request] = pipeline.sent;
    t.equal(request?.target, '/api/v1/tenants/globex/pods');
    t.same(headerValues(request?.headers ?? [], 'impersonate-user'), ['globex:guest:system:root']);
    t.same(headerValues(request?.headers ?? [], 'impersonate-group'), [
      'stonegate:guest',
      'stonegate:guest:system',
      'stonegate:policy:administration:eu',
    ]);
  },
);

t.test('a path below the prefix that names another tenant, or another prefix, is 400', async (t) => {
  const { status, pipeline } = guestPipeline();
  for (const path of [
    '/tenants/globex/api/v1/tenants/acme/pods',
    '/tenants/globex/api/v1/watch/tenants/acme/pods',
    '/tenants/globex/api/v1/tenants/acme',
    '/tenants/globex/tenants/acme/api/v1/pods',
    '/tenants/%67lobex/api/v1/pods',
    '/tenants/Globex/api/v1/pods',
    '/tenants/../api/v1/pods',
    '//tenants/globex/api/v1/pods',
    '/tenants/globex//api/v1/pods',
  ])
    t.equal(await status('alice', path), 400, path);
  t.same(pipeline.sent, []);
});

t.test('below the prefix, discovery is the only path served that is not a resource', async (t) => {
  const { status, pipeline, fetched } = guestPipeline();
  for (const path of ['', '/', '/metrics', '/logs/', '/swagger.json', '/oauth/token'])
    t.equal(await status('alice', `/tenants/globex${path}`), 403, path);
  for (const path of ['/tenants', '/tenants/'])
    t.equal(await status('alice', path), path === '/tenants' ? 403 : 400, path);
  t.same([pipeline.sent, fetched], [[], []]);
});

t.test(
  "discovery below the prefix is that of the entered tenant, charged to the user's own tenant",
  async (t) => {
    const { status, fetched } = guestPipeline();
    t.equal(await status('alice', '/tenants/globex/apis'), 200);
    t.same(fetched, [
      { tenant: 'globex', account: { kind: 'tenant', tenant: 'acme', guests: true }, path: '/apis' },
    ]);
    t.equal(await status('colons', '/tenants/globex/apis'), 403, 'discovery needs a grant');
  },
);

t.test('the object of the entered tenant is not shown to a guest without the right', async (t) => {
  const rules = [rule('get,list', 'tenants')];
  const { ask, pipeline } = guestPipeline([readPods({ rules })]);
  await ask('alice', '/tenants/globex/api/v1/tenants/globex');
  t.equal(pipeline.sent[0]?.target, '/api/v1/tenants/globex', 'the API server decides');
});

t.test('D327 a guest cannot impersonate any user', async (t) => {
  const rules = [rule('impersonate', 'users,groups')];
  const { ask, pipeline, reviews } = guestPipeline([readPods(), readPods({ name: 'more', rules })]);
  for (const name of ['globex:bob', 'bob', 'globex:guest:acme:alice']) {
    const { response } = await ask('alice', PODS, { headers: [['Impersonate-User', name]] });
    t.equal(response.status, 403);
  }
  t.same([pipeline.sent, reviews], [[], []]);
});

t.test('D319 no user of the entered tenant can have the name or the group of a guest', async (t) => {
  const { status, pipeline } = guestPipeline();
  t.equal(await status('posing', '/api/v1/namespaces/web/pods'), 403);
  t.equal(await status('grouped', '/api/v1/namespaces/web/pods'), 403);
  for (const name of ['guest:acme:alice', 'globex:guest:acme:alice']) {
    const headers = [['Impersonate-User', name]] as const;
    t.equal(await status('bob', '/api/v1/namespaces/web/pods', { headers }), 403);
  }
  t.same(pipeline.sent, []);
});

t.test('D326 a service account of the API server stays in its tenant', async (t) => {
  const policy = readPods({ subjects: [{ tenant: 'acme', user: '*' }] });
  const { status, pipeline } = guestPipeline([policy]);
  t.equal(await status('robot', PODS), 403);
  t.same(pipeline.sent, []);
  t.equal(await status('robot', '/tenants/acme/api/v1/tenants/acme/pods'), 200);
});

t.test('D323 one policy lets a user into each tenant that it names', async (t) => {
  const { status } = guestPipeline([readPods({ tenants: new Set(['globex', 'initech']) })]);
  for (const tenant of ['globex', 'initech'])
    t.equal(await status('alice', `/tenants/${tenant}/api/v1/pods`), 200);
  t.equal(await status('alice', '/tenants/umbrella/api/v1/pods'), 403);
});

t.test('D325 what a policy of one tenant allows holds in that tenant only', async (t) => {
  const secrets = [rule('get,list', 'secrets')];
  const { status } = guestPipeline([
    readPods(),
    readPods({ name: 'secrets', tenants: new Set(['initech']), rules: secrets }),
  ]);
  t.equal(await status('alice', '/tenants/initech/api/v1/secrets'), 200);
  t.equal(await status('alice', '/tenants/globex/api/v1/secrets'), 403);
  t.equal(await status('alice', '/tenants/initech/api/v1/pods'), 403);
});

t.test('groups of the home tenant count for the policy, but not in the entered tenant', async (t) => {
  const byGroup = readPods({ subjects: [{ tenant: 'acme', group: 'keystone:group:auditors' }] });
  const { status, pipeline } = guestPipeline([byGroup]);
  t.equal(await status('alice', PODS), 200);
  t.equal(await status('colons', PODS), 403);
  const headers = pipeline.sent[0]?.headers ?? [];
  t.notOk(headerValues(headers, 'impersonate-group').some((group) => group.startsWith('keystone:')));
  t.notOk(headerValues(headers, 'impersonate-group').includes('system:authenticated'));
  t.equal(headerValue(headers, 'impersonate-uid'), undefined);
  t.notOk(
    headers.some(([name]) => name.toLowerCase().startsWith('impersonate-extra')),
    'roles of the home tenant are not sent',
  );
});

t.test('an anonymous request enters no tenant', async (t) => {
  const { status } = guestPipeline([readPods({ subjects: [{ tenant: 'acme', user: '*' }] })]);
  t.equal(await status('', PODS), 401);
});

t.test("a guest's request is charged to their own tenant and provisions nothing", async (t) => {
  const { ask, pipeline, limited, provisioned } = guestPipeline();
  await ask('alice', PODS);
  t.same(limited, ['acme']);
  t.same(provisioned, []);
  t.same(pipeline.sent[0]?.account, { kind: 'tenant', tenant: 'acme', guests: true });
});

t.test('Location in the response gets the prefix that the client sent', async (t) => {
  const { ask, pipeline } = guestPipeline();
  await ask('alice', PODS);
  await ask('alice', '/api/v1/pods');
  t.same(
    pipeline.sent.map(({ locationPrefix }) => locationPrefix),
    ['/tenants/globex', undefined],
  );
});

t.test('responses are not filtered and refusals not hidden for guests', async (t) => {
  const { ask, pipeline } = guestPipeline();
  const { access } = accessIndexOf();
  const { responseHooks: [hookFor] = [] } = createHideForbidden(pipeline.mode, {
    access,
    verifier: { sample() {} },
  });
  const seen: unknown[] = [];
  const hook: ResponseHook = (outgoing) => {
    seen.push([outgoing.kind, hookFor?.(outgoing) !== undefined]);
    return undefined;
  };
  Object.assign(pipeline, { responseHooks: [hook] });
  await ask('alice', PODS);
  await ask('alice', '/tenants/globex/api/v1/pods');
  await ask('alice', `${PODS}/p`);
  await ask('alice', '/api/v1/pods');
  await ask('alice', '/api/v1/namespaces/web/pods/p');
  t.same(seen, [
    ['forward', false],
    ['forward', false],
    ['forward', false],
    ['all-namespaces', false],
    ['forward', true],
  ]);
});

t.test('a connection into a pod needs the right to create it, both by the policy and by RBAC', async (t) => {
  const exec = (verbs: string[]) =>
    readPods({ rules: [{ apiGroups: [''], resources: ['pods/exec'], verbs }] });
  const upgrade = () => ({ protocol: 'websocket', socket: new PassThrough(), head: Buffer.alloc(0) });
  const target = '/tenants/globex/api/v1/namespaces/web/pods/p/exec?command=sh';
  const reading = guestPipeline([exec(['get'])]);
  t.equal(await reading.status('alice', target, { upgrade: upgrade() }), 403);
  t.same(reading.pipeline.tunnelled, []);
  const both = guestPipeline([exec(['get', 'create'])]);
  await both.ask('alice', target, { upgrade: upgrade() });
  t.equal(both.pipeline.tunnelled[0]?.target, '/api/v1/tenants/globex/namespaces/web/pods/p/exec?command=sh');
  t.match(both.reviews, [
    {
      user: { username: 'globex:guest:acme:alice' },
      attributes: { resourceAttributes: { tenant: 'globex', verb: 'create', subresource: 'exec' } },
    },
  ]);
  const denied = guestPipeline([exec(['get', 'create'])], false);
  t.equal(await denied.status('alice', target, { upgrade: upgrade() }), 403);
});

t.test('D329 the audit event names the user, both tenants and the policy with its source', async (t) => {
  const { ask, pipeline } = guestPipeline();
  await ask('alice', PODS);
  const record = pipeline.events.at(-1)?.record;
  t.match(record, {
    tenant: 'acme',
    impersonator: { username: 'acme:alice' },
    user: { username: 'globex:guest:acme:alice' },
    crossing: { tenant: 'globex', policy: { form: 'tenant', name: 'auditors' } },
  });
  t.equal(record?.exchange.target, PODS, 'the path is the one that the client sent');
});

t.test('D329 the event of a refusal beyond the policy names the policies that let the user in', async (t) => {
  const { ask, pipeline } = guestPipeline([readPods(), readPods({ form: 'abac', name: 'line' })]);
  await ask('alice', PODS, { method: 'DELETE' });
  t.match(pipeline.events.at(-1)?.record, {
    tenant: 'acme',
    user: { username: 'acme:alice' },
    outcome: {
      status: 403,
      code: 'AccessDenied',
      annotations: {
        'stonegate.dev/entered-tenant': 'globex',
        'stonegate.dev/refused-by-policies': /tenant:auditors/,
      },
    },
  });
});

t.test(
  'D329 the event of a user whom no policy lets in names the tenant that they tried to enter',
  async (t) => {
    const { ask, pipeline } = guestPipeline();
    await ask('alice', '/tenants/nowhere/api/v1/pods');
    t.match(pipeline.events.at(-1)?.record, {
      tenant: 'acme',
      outcome: {
        status: 403,
        code: 'TenantForbidden',
        annotations: { 'stonegate.dev/entered-tenant': 'nowhere' },
      },
    });
  },
);

const REVIEWS = '/tenants/globex/apis/authorization.k8s.io/v1';
const access = (resourceAttributes: object) =>
  JSON.stringify({
    kind: 'SelfSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    spec: { resourceAttributes },
  });
const POST = { method: 'POST', headers: [['Content-Type', 'application/json']] as const };

t.test('a guest may do what both the policy and RBAC allow', async (t) => {
  const target = `${REVIEWS}/selfsubjectaccessreviews`;
  const mayGet = access({ verb: 'get', resource: 'pods', namespace: 'web' });
  const { ask, reviews } = guestPipeline();
  t.match((await ask('alice', target, { ...POST, body: mayGet })).response.json(), {
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { tenant: 'globex' } },
    status: { allowed: true },
  });
  t.match(reviews, [
    {
      user: {
        username: 'globex:guest:acme:alice',
        groups: ['stonegate:guest', 'stonegate:guest:acme', /auditors/],
      },
      attributes: { resourceAttributes: { tenant: 'globex', verb: 'get', resource: 'pods' } },
    },
  ]);
  for (const attributes of [
    { verb: 'create', resource: 'pods', namespace: 'web' },
    { verb: '*', resource: '*' },
    { verb: 'get', resource: 'pods', namespace: 'web', tenant: 'acme' },
    { verb: 'create', resource: 'pods', subresource: 'exec', namespace: 'web' },
  ])
    t.match((await ask('alice', target, { ...POST, body: access(attributes) })).response.json(), {
      status: { allowed: false },
    });
  t.equal(reviews.length, 1, 'a request that no policy allows is not reviewed');
  const denied = guestPipeline([readPods()], false);
  t.match((await denied.ask('alice', target, { ...POST, body: mayGet })).response.json(), {
    status: { allowed: false },
  });
});

t.test('an access token limits its owner as a guest too', async (t) => {
  const secrets = rule('get', 'secrets');
  const { ask, reviews } = guestPipeline([readPods({ rules: [secrets] })]);
  const body = access({ verb: 'get', resource: 'secrets', namespace: 'web' });
  const statusFor = async (user: string) =>
    (await ask(user, `${REVIEWS}/selfsubjectaccessreviews`, { ...POST, body })).response.json();
  t.match(await statusFor('alice'), { status: { allowed: true } });
  t.match(await statusFor('session'), { status: { allowed: false, reason: /its scopes are session/ } });
  t.equal(reviews.length, 1, 'a request beyond the scope is not reviewed');
});

t.test("Stonegate's own API is closed to guests, even if a policy names it", async (t) => {
  const rules = [rule('*', 'selfidentity', 'stonegate.dev')];
  const { ask, status, reviews } = guestPipeline([readPods({ rules })]);
  const path = '/tenants/globex/apis/stonegate.dev/v1alpha1/selfidentity';
  t.equal(await status('alice', path), 403);
  const body = access({ verb: 'list', group: 'stonegate.dev', resource: 'selfidentity' });
  const target = `${REVIEWS}/selfsubjectaccessreviews`;
  t.match((await ask('alice', target, { ...POST, body })).response.json(), { status: { allowed: false } });
  t.same(reviews, []);
});

t.test('a guest can ask who they are, but not for a list of rules', async (t) => {
  const { ask, status } = guestPipeline();
  const self = '/tenants/globex/apis/authentication.k8s.io/v1/selfsubjectreviews';
  t.match((await ask('alice', self, { ...POST, body: '{}' })).response.json(), {
    status: { userInfo: { username: 'globex:guest:acme:alice' } },
  });
  const rules = `${REVIEWS}/selfsubjectrulesreviews`;
  t.equal(await status('alice', rules, { ...POST, body: '{}' }), 403);
  t.equal(await status('colons', self, { ...POST, body: '{}' }), 403);
});
