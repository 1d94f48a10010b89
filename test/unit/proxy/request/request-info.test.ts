import t from 'tap';
import { isWorkload } from '../../../../src/kubernetes/request-info.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';
import { rows } from '../../../support/rows.ts';

function parse(method: string, target: string) {
  return readRequestInfo(method, target, { hasTenantsInPaths: true });
}

/** A request, its verb with the object, its subresource, and why it takes long. */
const LONG_RUNNING = rows(`
POST /api/v1/namespaces/ns/pods/p/exec?command=ls | create ns/pods/p | exec | exec
GET /api/v1/namespaces/ns/pods/p/exec?command=ls | get ns/pods/p | exec | exec
POST /api/v1/namespaces/ns/pods/p/attach | create ns/pods/p | attach | attach
POST /api/v1/namespaces/ns/pods/p/portforward | create ns/pods/p | portforward | portforward
GET /api/v1/namespaces/ns/pods/p/log?follow=true | get ns/pods/p | log | log
GET /api/v1/namespaces/ns/services/x:8080/proxy/healthz | get ns/services/x:8080 | proxy | proxy
GET /api/v1/nodes/n/proxy/logs | get /nodes/n | proxy | proxy
GET /api/v1/proxy/namespaces/ns/services/svc | proxy ns/services/svc | | proxy
POST /api/v1/proxy/namespaces/ns/services/svc/a/b | proxy ns/services/svc | | proxy`);

t.test('C056 C057 connections, proxies and followed logs are recognized as long-running', async (t) => {
  for (const [request, what, subresource, longRunning] of LONG_RUNNING) {
    const [method = '', target = ''] = request.split(' ');
    const info = parse(method, target);
    t.match(info, { subresource, longRunning }, request);
    t.equal(info.isResourceRequest && `${info.verb} ${info.namespace}/${info.resource}/${info.name}`, what);
  }
});

t.test('C058 a list of the core group is a resource request, not a non-resource get', async (t) =>
  t.match(parse('GET', '/api/v1/namespaces/ns/pods'), {
    isResourceRequest: true,
    verb: 'list',
    apiGroup: '',
    resource: 'pods',
    namespace: 'ns',
  }),
);

for (const target of ['/', '/api/v1/', '/openapi/v3/apis/apps/v1', '/logs/'])
  t.test(`${target} names no resource`, async (t) =>
    t.strictSame(parse('PUT', target), {
      isResourceRequest: false,
      verb: 'put',
      rawPath: target,
      rawQuery: '',
    }),
  );

t.test('C214 a tenant in the query is ignored', async (t) =>
  t.match(parse('GET', '/api/v1/pods?tenant=t2&user_id=root&target=x'), {
    tenant: '',
    resource: 'pods',
    name: '',
  }),
);

for (const tenant of ['*', 'acme%3Fx', 'Acme', 'a'.repeat(64), 'a:b'])
  t.test(`C160 ${tenant} cannot be the name of a tenant, and a path that names it is refused`, async (t) => {
    for (const path of [`/api/v1/tenants/${tenant}/pods`, `/apis/apps/v1/watch/tenants/${tenant}/x/y/z`])
      t.throws(() => parse('GET', path), { code: 'RequestMalformed', http: 400 });
  });

t.test('the path may name the tenant "all"', async (t) =>
  t.match(parse('GET', '/api/v1/tenants/all/pods'), { tenant: 'all' }),
);

t.test('the prefix of a tenant alone addresses the root of its paths', async (t) =>
  t.match(parse('GET', '/tenants/acme'), {
    rawPath: '/',
    addressed: { tenant: 'acme', prefix: '/tenants/acme' },
  }),
);

for (const [target, expected] of [
  ['/api/v1/namespaces/ns/pods/p/proxy/x', true],
  ['/api/v1/namespaces/ns/services/s/proxy', true],
  ['/api/v1/proxy/nodes/n', true],
  ['/api/v1/namespaces/ns/pods/proxy', false],
  ['/api/v1/namespaces/ns/pods/p?x=/proxy/', false],
  ['/api/v1/namespaces/ns/configmaps/c/proxy', false],
  ['/apis/example.com/v1/namespaces/ns/pods/p/proxy', false],
  ['/proxy/x', false],
] as const)
  t.test(`${target} is answered by ${expected ? 'a workload' : 'the API server'}`, async (t) =>
    t.equal(isWorkload(parse('GET', target)), expected),
  );

t.test('if tenants are not read from the path, they are an ordinary resource', async (t) => {
  const info = readRequestInfo('GET', '/api/v1/tenants/t1/pods', { hasTenantsInPaths: false });
  t.match(info, { tenant: '', resource: 'tenants', name: 't1', subresource: 'pods' });
});

for (const target of [
  '/api/v1/namespaces//services/app',
  '/api/v1//namespaces',
  '//api/v1/pods',
  '/api/v1/namespaces//pods/p/proxy/x',
])
  t.test(`C130 C204 the empty segment in ${target} is refused`, async (t) =>
    t.throws(() => parse('GET', target), { code: 'RequestMalformed' }),
  );

t.test('the path after a proxy subresource is unchanged, including its trailing slash', async (t) => {
  const target = '/api/v1/namespaces/ns/pods/p/proxy//a/b%2Fc/%74/';
  t.match(parse('GET', target), { rawPath: target, namespace: 'ns', name: 'p', subresource: 'proxy' });
});

t.test('a dot segment after a proxy subresource is refused', async (t) =>
  t.throws(() => parse('GET', '/api/v1/namespaces/ns/pods/p/proxy/a/%2e%2e/b'), { code: 'RequestMalformed' }),
);

t.test('C151 a non-resource path that contains a resource path is not a resource request', async (t) =>
  t.equal(parse('GET', '/metrics/api/v1/pods').isResourceRequest, false),
);

t.test('an unknown method has no verb', async (t) =>
  t.match(parse('constructor', '/api/v1/pods'), { verb: '' }),
);

t.test('a query with more parameters than any client sends is refused', async (t) => {
  const query = (count: number) => `/api/v1/pods?${Array.from({ length: count }, () => 'a').join('&')}`;
  t.match(parse('GET', query(1_000)), { verb: 'list' });
  t.throws(() => parse('GET', query(1_001)), { code: 'RequestMalformed', http: 400 });
});

t.test('no parameter of such a query is read: broken escapes would take long', async (t) => {
  const broken = '%ff&'.repeat(1_001);
  t.throws(() => parse('GET', `/api/v1/pods?watch=fal%C5%BFe&${broken}`), { message: /more than 1000/ });
});

t.test('a limit is an int64, however many digits are sent', async (t) => {
  const named = (limit: string) =>
    parse('GET', `/api/v1/pods?fieldSelector=metadata.name%3Dweb&limit=${limit}`);
  const zeros = '0'.repeat(50_000);
  for (const limit of ['5', '-5', '0', zeros, `${zeros}7`, '9223372036854775807', '-9223372036854775808'])
    t.match(named(limit), { name: 'web' }, limit.slice(-20));
  for (const limit of ['9223372036854775808', '1'.repeat(50_000), '1.5', '%2B', '-'])
    t.match(named(limit), { name: '' }, limit.slice(-20));
});
