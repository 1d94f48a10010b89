import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createConnectCreate } from '../../../../src/features/tenant-boundary/connect-create.ts';
import type { SubjectAccessReviewStatus } from '../../../../src/kubernetes/authorization-v1.ts';
import type { TenantName } from '../../../../src/kubernetes/request-info.ts';
import type { Sender } from '../../../../src/kubernetes/upstream-request.ts';
import { runAuthorizers } from '../../../../src/proxy/authorizer.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { askedExchange } from '../../../support/fake-exchange.ts';
import { claimIdentity } from '../../../support/identities.ts';

const decide = async (...asked: Parameters<typeof runAuthorizers>) => runAuthorizers(...asked);

const EXEC = '/api/v1/namespaces/ns/pods/p/exec?command=sh';

interface Options {
  readonly method?: string;
  readonly upgrade?: string | undefined;
  readonly answer?: SubjectAccessReviewStatus | Error;
  readonly reviewTenant?: TenantName | undefined;
  readonly sender?: Sender;
}

/** Asks the authorizer. @returns its refusal, and what it asked the API server */
async function ask(target: string, options: Options = {}) {
  const { method = 'GET', answer = { allowed: false }, sender = { kind: 'stonegate' } } = options;
  const asked: unknown[] = [];
  const authorizer = createConnectCreate({
    reviewTenant: () => ('reviewTenant' in options ? options.reviewTenant : toTenantName('acme')),
    reviewer: {
      async review(user, attributes) {
        asked.push({ user: user.username, ...attributes });
        if (answer instanceof Error) throw answer;
        return answer;
      },
      async reviewSelf(token, home, attributes) {
        asked.push({ token, home, ...attributes });
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
  });
  const refusal: unknown = await decide([authorizer], {
    exchange: askedExchange(method, 'upgrade' in options ? options.upgrade : 'websocket'),
    info: readRequestInfo(method, target, { hasTenantsInPaths: true }),
    identity: claimIdentity('alice'),
    user: { username: 'acme:alice', uid: '', groups: [], extra: {} },
    tenant: toTenantName('acme'),
    sender,
  }).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { asked, refusal };
}

t.test('a WebSocket into a pod requires the right to create the connection', async (t) => {
  const { asked, refusal } = await ask(EXEC, { answer: { allowed: true } });
  t.equal(refusal, undefined);
  t.strictSame(asked, [
    {
      user: 'acme:alice',
      resourceAttributes: {
        tenant: 'acme',
        namespace: 'ns',
        verb: 'create',
        group: '',
        version: 'v1',
        resource: 'pods',
        subresource: 'exec',
        name: 'p',
      },
    },
  ]);
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

for (const [method, target, upgrade] of [
  ['POST', EXEC, 'spdy/3.1'],
  ['GET', EXEC, undefined],
  ['GET', '/api/v1/namespaces/ns/pods?watch=1', 'websocket'],
  ['GET', '/api/v1/namespaces/ns/services/s/proxy/ws', 'websocket'],
  ['GET', '/apis/example.com/v1/namespaces/ns/pods/p/exec', 'websocket'],
] as const) {
  t.test(`${method} ${target} with upgrade ${upgrade} is left to the API server`, async (t) => {
    const { asked, refusal } = await ask(target, { method, upgrade });
    t.strictSame({ asked, refusal }, { asked: [], refusal: undefined });
  });
}

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

const NODE = {
  tenant: 'acme',
  namespace: '',
  verb: 'create',
  group: '',
  version: 'v1',
  resource: 'nodes',
  subresource: 'proxy',
  name: 'n1',
};

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

t.test('a node is read without that right, and so are pods and services by WebSocket', async (t) => {
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
