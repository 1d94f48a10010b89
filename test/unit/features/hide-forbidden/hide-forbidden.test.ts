/** Of which requests a 403 is shown as a 404, and in which words. */
import t from 'tap';
import type { HiddenObjects } from '../../../../src/features/hide-forbidden/hidden-objects.ts';
import { createForbiddenHook } from '../../../../src/features/hide-forbidden/hide-forbidden.ts';
import type { RBACUser, ResourceQuestion } from '../../../../src/rbac/attributes.ts';
import { openMode } from '../../../support/fake-pipeline.ts';
import { claimIdentity } from '../../../support/identities.ts';
import { outgoingOf } from '../../../support/outgoing.ts';

const REFUSAL = Buffer.from(
  '{"kind":"Status","message":"pods \\"x\\" is forbidden: User \\"alice\\" cannot"}\n',
);

function site(isHidden = true) {
  const asked: [RBACUser, ResourceQuestion][] = [];
  const hidden: HiddenObjects = {
    isHidden(user, question) {
      asked.push([user, question]);
      return isHidden;
    },
  };
  const hook = createForbiddenHook(hidden, openMode);
  const hookFor = (method: string, target: string, more = {}) =>
    hook(outgoingOf(openMode, claimIdentity('alice'), { method, target, ...more }));
  return { asked, hookFor };
}

t.test('only requests for a named object', async (t) => {
  const { hookFor } = site();
  const pods = '/api/v1/namespaces/n/pods';
  const upgrade = { protocol: 'spdy/3.1', socket: process.stdout, head: Buffer.alloc(0) };
  for (const [method, target] of [
    ['GET', `${pods}/x`],
    ['HEAD', `${pods}/x`],
    ['PUT', `${pods}/x`],
    ['PATCH', `${pods}/x/status`],
    ['DELETE', `${pods}/x`],
    ['GET', `${pods}/x/log`],
    ['GET', '/api/v1/namespaces/n'],
    ['GET', '/apis/example.com/v1/foos/x'],
  ] as const)
    t.ok(hookFor(method, target), `${method} ${target}`);
  for (const [method, target, more = {}] of [
    ['GET', pods],
    ['GET', `${pods}?fieldSelector=metadata.name%3Dx`],
    ['GET', `${pods}?watch=1&fieldSelector=metadata.name%3Dx`],
    ['GET', `/api/v1/watch/namespaces/n/pods/x`],
    ['DELETE', pods],
    ['POST', pods],
    ['POST', `${pods}/x/eviction`],
    ['POST', `${pods}/x/exec`],
    ['GET', `${pods}/x/exec`, { upgrade }],
    ['GET', `${pods}/x/log?follow=true`],
    ['GET', `${pods}/x/proxy/secret`],
    ['GET', '/version'],
    ['GET', '/api/v1'],
  ] as const)
    t.equal(hookFor(method, target, more), undefined, `${method} ${target}`);
});

t.test('the response is that of a missing object', async (t) => {
  const { hookFor, asked } = site();
  const replaced = hookFor('GET', '/apis/apps/v1/namespaces/n/deployments/x%3C%26%22/scale')?.onForbidden(
    REFUSAL,
  );
  t.equal(replaced?.status, 404);
  t.equal(
    replaced?.body.toString(),
    String.raw`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"deployments.apps \"x\u003c\u0026\\\"\" not found","reason":"NotFound","details":{"name":"x\u003c\u0026\"","group":"apps","kind":"deployments"},"code":404}` +
      '\n',
  );
  t.strictSame(replaced?.headers, [
    ['Content-Type', 'application/json'],
    ['Content-Length', String(replaced?.body.length)],
  ]);
  t.match(asked, [
    [
      { tenant: '', username: 'acme:alice' },
      {
        verb: 'get',
        apiGroup: 'apps',
        resource: 'deployments',
        subresource: 'scale',
        namespace: 'n',
        name: 'x<&"',
      },
    ],
  ]);
});

t.test('a HEAD has the head alone', async (t) => {
  const { hookFor } = site();
  const get = hookFor('GET', '/api/v1/nodes/x')?.onForbidden(REFUSAL);
  const head = hookFor('HEAD', '/api/v1/nodes/x')?.onForbidden(Buffer.alloc(0));
  t.strictSame(head, { ...get, body: Buffer.alloc(0) });
});

t.test('the audit log has the 403 and its reason', async (t) => {
  const relayed = { status: 403, aborted: false };
  const { hookFor } = site();
  const hook = hookFor('GET', '/api/v1/namespaces/n/pods/x');
  hook?.onForbidden(REFUSAL);
  t.strictSame(hook?.completed(relayed), {
    ...relayed,
    message: 'pods "x" is forbidden: User "alice" cannot',
    annotations: { 'stonegate.dev/shown-as': 'NotFound' },
  });
  const unread = hookFor('GET', '/api/v1/namespaces/n/pods/x');
  unread?.onForbidden(Buffer.from('k8s\0'));
  t.match(unread?.completed(relayed), { message: 'forbidden by the API server' });
});

t.test('what is not hidden passes, and is nothing for the audit log', async (t) => {
  const relayed = { status: 403, aborted: false };
  const { hookFor } = site(false);
  const hook = hookFor('GET', '/api/v1/namespaces/n/pods/x');
  t.equal(hook?.onForbidden(REFUSAL), undefined);
  t.equal(hook?.completed(relayed), relayed);
});
