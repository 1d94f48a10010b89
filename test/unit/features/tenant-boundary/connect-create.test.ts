import t from 'tap';
import { parse } from 'yaml';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createConnectCreate } from '../../../../src/features/tenant-boundary/connect-create.ts';
import type { SubjectAccessReviewStatus } from '../../../../src/kubernetes/authorization-v1.ts';
import type { TenantName } from '../../../../src/kubernetes/request-info.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { type AuthorizedRequest, refusalOf } from '../../../support/authorized.ts';
import { recordedReviewer } from '../../../support/reviewed.ts';
import { eachRow } from '../../../support/rows.ts';

const EXEC = '/api/v1/namespaces/ns/pods/p/exec?command=sh';

interface Options extends AuthorizedRequest {
  readonly answer?: SubjectAccessReviewStatus | Error;
  readonly reviewTenant?: TenantName | undefined;
}

/** Asks the authorizer, by default about a WebSocket. @returns its refusal, and what it asked */
async function ask(target: string, options: Options = {}) {
  const { reviewer, asked } = recordedReviewer(options.answer ?? { allowed: false });
  const authorizer = createConnectCreate({
    reviewTenant: () => ('reviewTenant' in options ? options.reviewTenant : toTenantName('acme')),
    reviewer,
  });
  return { asked, refusal: await refusalOf(authorizer, target, { upgrade: 'websocket', ...options }) };
}

t.test('a WebSocket into a pod requires the right to create the connection', async (t) => {
  const { asked, refusal } = await ask(EXEC, { answer: { allowed: true } });
  t.equal(refusal, undefined);
  t.strictSame(
    asked,
    parse(`
    - user: 'acme:alice'
      resourceAttributes: {
        tenant: acme, namespace: ns, verb: create, group: '', version: v1,
        resource: pods, subresource: exec, name: p}`),
  );
});

for (const subresource of ['exec', 'portforward']) {
  t.test(
    `without the right to create, a WebSocket to ${subresource} is refused in the API server’s words`,
    async (t) => {
      const { refusal } = await ask(`/api/v1/namespaces/ns/pods/p/${subresource}`);
      t.match(refusal, {
        code: 'AccessDenied',
        message: `pods "p" is forbidden: User "acme:alice" cannot create resource "pods/${subresource}" in API group "" in the namespace "ns"`,
        details: { name: 'p', kind: 'pods' },
      });
    },
  );
}

t.test('C027 an answer that both allows and denies is a denial', async (t) => {
  t.match((await ask(EXEC, { answer: { allowed: true, denied: true } })).refusal, { code: 'AccessDenied' });
});

t.test('C027 C128 if the API server cannot be asked, no connection is opened', async (t) => {
  const down = new StatusError('UpstreamUnavailable', 'down');
  t.equal((await ask(EXEC, { answer: down })).refusal, down);
});

t.test('the right is reviewed in the tenant of a full path', async (t) => {
  const { asked } = await ask('/api/v1/tenants/globex/namespaces/ns/pods/p/exec');
  t.match(asked, [{ resourceAttributes: { tenant: 'globex' } }]);
});

t.test('if the cluster has no tenants, the review names none', async (t) => {
  const { asked } = await ask(EXEC, { reviewTenant: undefined });
  t.notMatch(asked, [{ resourceAttributes: { tenant: /.*/ } }]);
});

t.test('what is no WebSocket into a pod is left to the API server', async (t) => {
  await eachRow(
    `
    POST | ${EXEC} | spdy/3.1
    GET  | ${EXEC} |
    GET  | /api/v1/namespaces/ns/pods?watch=1 | websocket
    GET  | /api/v1/namespaces/ns/services/s/proxy/ws | websocket
    GET  | /apis/example.com/v1/namespaces/ns/pods/p/exec | websocket`,
    async (method, target, protocol) => {
      const { asked, refusal } = await ask(target, { method, upgrade: protocol || undefined });
      t.strictSame({ asked, refusal }, { asked: [], refusal: undefined }, `${method} ${target}`);
    },
  );
});

t.test('a pass-through user is reviewed with their own token, in their own tenant', async (t) => {
  const sender = { kind: 'client', token: 'theirs' } as const;
  const allowed = await ask(EXEC, { sender, answer: { allowed: true } });
  t.equal(allowed.refusal, undefined);
  t.match(allowed.asked, [
    { token: 'theirs', home: 'acme', resourceAttributes: { tenant: 'acme', verb: 'create' } },
  ]);
  const failed = await ask(EXEC, { sender, answer: new StatusError('UpstreamUnavailable', 'down') });
  t.match(failed.refusal, { code: 'UpstreamUnavailable' });
});

const NODE = parse(
  "{tenant: acme, namespace: '', verb: create, group: '', version: v1, resource: nodes, subresource: proxy, name: n1}",
);

for (const target of [
  '/api/v1/nodes/n1/proxy/exec/ns/p/c?command=sh',
  '/api/v1/nodes/n1/proxy/metrics',
  '/api/v1/proxy/nodes/n1/exec/ns/p/c',
])
  for (const [method, protocol] of [
    ['GET', 'websocket'],
    ['PUT', 'spdy/3.1'],
  ] as const)
    t.test(`the right to read a node opens no shell: ${method} ${target} to ${protocol}`, async (t) => {
      const { asked, refusal } = await ask(target, { method, upgrade: protocol });
      t.strictSame(asked, [{ user: 'acme:alice', resourceAttributes: NODE }]);
      t.match(refusal, {
        code: 'AccessDenied',
        message:
          'nodes "n1" is forbidden: User "acme:alice" cannot create resource "nodes/proxy" in API group "" in the tenant "acme"',
      });
      const allowed = await ask(target, { method, upgrade: protocol, answer: { allowed: true } });
      t.equal(allowed.refusal, undefined);
    });

t.test('no right to create is needed to read a node, or a WebSocket to a pod or service', async (t) => {
  for (const [target, upgrade] of [
    ['/api/v1/nodes/n1/proxy/exec/ns/p/c', undefined],
    ['/api/v1/namespaces/ns/pods/p/proxy/ws', 'websocket'],
    ['/api/v1/namespaces/ns/services/s/proxy/ws', 'websocket'],
  ] as const) {
    const { asked, refusal } = await ask(target, { upgrade });
    t.equal(refusal, undefined);
    t.same(asked, [], target);
  }
});
