/**
 * The stand-in calls validating webhooks as a real Arktos did: what it sends, and what a client gets if a
 * webhook refuses or cannot be reached.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { createApiServer } from '../../support/apiserver/api-server.ts';
import { freePort } from '../../support/free-port.ts';
import { createAuthority } from '../../support/tls/authority.ts';

interface Recorded {
  readonly request: { readonly path: string; readonly body: object };
  readonly response: { readonly status: number; readonly body: object };
}

/** A recorded call of a webhook with its review, or a client's request with its response. */
function recorded(name: string): Recorded {
  return JSON.parse(readFileSync(new URL(`recorded-webhooks/${name}.json`, import.meta.url), 'utf8'));
}

interface Review {
  readonly request: { readonly uid: string; readonly operation: string };
}

async function start(t: Test) {
  const authority = await createAuthority('webhooks');
  const reviews: Review[] = [];
  const webhook = createServer(await authority.server('webhook'), async (request, response) => {
    const review: Review = JSON.parse(await text(request));
    reviews.push(review);
    const allowed = request.url?.startsWith('/deny') !== true;
    const status = { code: 403, reason: 'Forbidden', message: 'stonegate says no' };
    response.end(
      JSON.stringify({ response: { uid: review.request.uid, allowed, ...(!allowed && { status }) } }),
    );
  });
  const port = await freePort();
  await new Promise<void>((listening) => webhook.listen(port, '127.0.0.1', listening));
  t.teardown(() => webhook.close());
  const server = await createApiServer({
    flavour: 'arktos',
    tokens: { proxy: { username: 'proxy', groups: ['system:masters'] } },
  });
  t.teardown(() => server.close());
  server.seed.tenant('acme');
  server.seed.clusterRoleBinding('alice', 'admin-role', ['user:acme:alice'], { tenant: 'acme' });
  return {
    reviews,
    ask: (path: string, init: RequestInit = {}) =>
      fetch(`${server.url}${path}`, {
        ...init,
        headers: {
          authorization: 'Bearer proxy',
          'impersonate-user': 'acme:alice',
          'impersonate-group': 'system:authenticated',
          'content-type': 'application/json',
        },
      }),
    register(name: string, url = `https://127.0.0.1:${port}${name.startsWith('va.') ? '/deny' : '/allow'}`) {
      const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] };
      const clientConfig = { url, caBundle: Buffer.from(authority.cert).toString('base64') };
      server.seed.object('admissionregistration.k8s.io/v1/validatingwebhookconfigurations', name, {
        webhooks: [{ name, clientConfig, failurePolicy: 'Fail', rules: [rule] }],
      });
    },
  };
}

const CONFIG_MAPS = '/api/v1/tenants/acme/namespaces/default/configmaps';
const CONFIG_MAP = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'wc1' }, data: { a: 'b' } };
const create = { method: 'POST', body: JSON.stringify(CONFIG_MAP) };

/** Leaves out generated values, and Arktos' hash and options, which no webhook of Stonegate reads. */
function shape(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, each) =>
      ['uid', 'hashKey', 'creationTimestamp', 'resourceVersion', 'selfLink', 'options'].includes(key)
        ? undefined
        : each,
    ),
  );
}

t.test('a webhook is sent the recorded review of an object of a tenant', async (t) => {
  const { reviews, ask, register } = await start(t);
  register('ok.stonegate.io');
  t.equal((await ask(CONFIG_MAPS, create)).status, 201);
  t.equal((await ask(`${CONFIG_MAPS}/wc1`, { method: 'DELETE' })).status, 200);
  const [created, deleted] = reviews;
  t.strictSame(
    shape(created),
    shape(recorded('webhook-call-validating-create-configmaps-user').request.body),
  );
  t.strictSame(
    shape(deleted),
    shape(recorded('webhook-call-validating-delete-configmaps-user').request.body),
  );
});

t.test('a client gets the recorded response if a webhook refuses', async (t) => {
  const { ask, register } = await start(t);
  register('va.stonegate.io');
  const response = await ask(CONFIG_MAPS, create);
  const { status, body } = recorded('webhook-deny').response;
  t.equal(response.status, status);
  t.strictSame(await response.json(), body);
  t.equal((await ask(`${CONFIG_MAPS}/wc1`)).status, 404, 'nothing is stored');
});

t.test('a client gets the recorded response if a webhook cannot be reached', async (t) => {
  const { ask, register } = await start(t);
  const port = await freePort();
  register('dead-fail.stonegate.io', `https://127.0.0.1:${port}/x`);
  const response = await ask(CONFIG_MAPS, create);
  const { status, body } = recorded('webhook-unreachable-fail').response;
  t.equal(response.status, status);
  const told = (given: unknown): unknown =>
    JSON.parse(
      JSON.stringify(given, (key, each) => (key === 'message' ? each.replace(/: Post ".*$/, '') : each)),
    );
  t.strictSame(told(await response.json()), told(body));
});
