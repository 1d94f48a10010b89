/** The API server's stand-in beyond the recordings: impersonation, watches, patches, upgrades and faults. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { type ApiServer, createApiServer } from '../../support/apiserver/api-server.ts';
import type { FaultKind } from '../../support/apiserver/faults.ts';
import { isObject, type JsonObject, objectAt, objectsAt, textAt } from '../../support/apiserver/json.ts';
import type { Flavour } from '../../support/apiserver/kinds.ts';
import { createAuthority } from '../../support/tls/authority.ts';

interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

const AS_ALICE: [string, string] = ['Impersonate-User', 'tenant1:alice'];

async function start(t: Test, flavour: Flavour = 'arktos'): Promise<ApiServer> {
  const tokens = { admin: { username: 'admin', groups: ['system:masters'] }, proxy: { username: 'proxy' } };
  const server = await createApiServer({ flavour, tokens });
  t.teardown(() => server.close());
  const { seed } = server;
  seed.clusterRole('impersonator', [
    { verbs: ['impersonate'], apiGroups: [''], resources: ['users', 'groups'] },
    { verbs: ['impersonate'], apiGroups: ['authentication.k8s.io'], resources: ['userextras/tier', 'uids'] },
  ]);
  seed.clusterRoleBinding('impersonator', 'impersonator', ['user:proxy']);
  if (flavour === 'arktos') seed.tenant('tenant1');
  return server;
}

function open(
  server: ApiServer,
  path: string,
  headers: readonly (readonly [string, string])[] = [],
  method = 'GET',
  body?: JsonObject | readonly JsonObject[],
  token = 'admin',
): Promise<IncomingMessage> {
  const host = new URL(server.url).host;
  const all = [['Host', host], ['Authorization', `Bearer ${token}`], ...headers].flat();
  return new Promise((resolve, reject) => {
    const sent = httpRequest(server.url, { path, method, headers: all, agent: false });
    sent.once('response', resolve);
    sent.once('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** @returns what came on each channel */
async function exec(
  server: ApiServer,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Readonly<Record<number, string>>> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, ['v4.channel.k8s.io'], {
    headers: { Authorization: 'Bearer admin', ...headers },
  });
  const channels: Record<number, string> = {};
  socket.on('message', (data: Buffer) => {
    const [channel = -1] = data;
    channels[channel] = (channels[channel] ?? '') + data.subarray(1).toString();
  });
  await once(socket, 'close');
  return channels;
}

async function ask(...args: Parameters<typeof open>): Promise<Answer> {
  const response = await open(...args);
  let text = '';
  for await (const chunk of response) text += String(chunk);
  const body: unknown = JSON.parse(text);
  return { status: response.statusCode ?? 0, body: isObject(body) ? body : {} };
}

const asProxy = (server: ApiServer, headers: [string, string][]): Promise<Answer> =>
  ask(server, '/api/v1/tenants/tenant1/pods', headers, 'GET', undefined, 'proxy');

t.test('impersonation in arktos', async (t) => {
  const server = await start(t);
  server.seed.clusterRoleBinding('alice', 'admin-role', ['user:tenant1:alice'], { tenant: 'tenant1' });

  t.equal((await asProxy(server, [AS_ALICE])).status, 200, 'a named user is acted as');
  t.same(
    server.requests.at(-1)?.user?.groups,
    ['system:authenticated'],
    'everybody is a group where none was sent',
  );
  await asProxy(server, [AS_ALICE, ['Impersonate-Group', 'devs']]);
  t.same(server.requests.at(-1)?.user?.groups, ['devs'], 'and is not once any was sent');
  await asProxy(server, [AS_ALICE, ['Impersonate-Uid', 'u1']]);
  t.equal(server.requests.at(-1)?.user?.uid, '', 'a uid is not read');
  await asProxy(server, [
    AS_ALICE,
    ['Impersonate-Extra-Tier', 'gold'],
    ['Impersonate-Extra-T%69er', 'silver'],
  ]);
  t.same(
    server.requests.at(-1)?.user?.extra,
    { tier: ['gold', 'silver'] },
    'extra keys are lower-cased and unescaped',
  );
  const other = await asProxy(server, [AS_ALICE, ['Impersonate-Extra-Other', 'x']]);
  t.match(
    other.body,
    { code: 403, message: /userextras\/other/ },
    'an extra key that no role names is refused',
  );
  const withoutUser = await asProxy(server, [['Impersonate-Group', 'devs']]);
  t.equal(withoutUser.status, 500, 'groups without a user are an error');
});

t.test('impersonation in an ordinary cluster', async (t) => {
  const server = await start(t, 'kubernetes');
  const review = { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' };
  const headers: [string, string][] = [
    ['Impersonate-User', 'acme:alice'],
    ['Impersonate-Uid', 'u1'],
    ['Impersonate-Group', 'devs'],
    ['Impersonate-Extra-tier', 'gold'],
  ];
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const answer = await ask(server, path, headers, 'POST', review, 'proxy');
  t.equal(answer.status, 201);
  t.same(
    objectAt(objectAt(answer.body, 'status'), 'userInfo'),
    {
      username: 'acme:alice',
      uid: 'u1',
      groups: ['devs', 'system:authenticated'],
      extra: { tier: ['gold'] },
    },
    'the review tells the impersonated user, uid and all',
  );
});

t.test('a watch', async (t) => {
  const server = await start(t);
  const place = { tenant: 'tenant1' };
  server.seed.configMap('one', { a: '1' }, place);
  const path = '/api/v1/tenants/tenant1/namespaces/default/configmaps?watch=true';
  const response = await open(server, path);
  const events: string[] = [];
  const lines = createInterface({ input: response });
  const next = async (): Promise<void> => {
    const [line] = await once(lines, 'line');
    const event: unknown = JSON.parse(String(line));
    if (isObject(event))
      events.push(
        `${textAt(event, 'type')} ${textAt(objectAt(objectAt(event, 'object'), 'metadata'), 'name')}`,
      );
  };
  await next();
  server.seed.configMap('two', { a: '1' }, place);
  await next();
  server.seed.configMap('two', { a: '2' }, place);
  await next();
  const gone = next();
  await ask(server, '/api/v1/tenants/tenant1/namespaces/default/configmaps/two', [], 'DELETE');
  await gone;
  t.same(events, ['ADDED one', 'ADDED two', 'MODIFIED two', 'DELETED two'], 'tells what is and what changes');

  server.endWatches();
  await once(response, 'end');
  t.ok(response.complete, 'ends in good order when the server says so');
});

t.test('a watch from a revision', async (t) => {
  const server = await start(t);
  const place = { tenant: 'tenant1' };
  server.seed.configMap('before', {}, place);
  const { revision } = server.cluster.store;
  server.seed.configMap('after', {}, place);
  const accept: [string, string] = ['Accept', 'application/json;as=Table;v=v1;g=meta.k8s.io'];
  const path = `/api/v1/tenants/tenant1/configmaps?watch=true&resourceVersion=${revision}&timeoutSeconds=1`;
  const event = await ask(server, path, [accept]);
  t.match(
    event.body,
    { type: 'ADDED', object: { kind: 'Table', rows: [{ cells: ['after'] }] } },
    'tells only what came after',
  );
});

t.test('patches', async (t) => {
  const server = await start(t);
  server.seed.pod('p', { tenant: 'tenant1' });
  const path = '/api/v1/tenants/tenant1/namespaces/default/pods/p';
  const patch = (type: string, body: JsonObject | JsonObject[]): Promise<Answer> =>
    ask(server, path, [['Content-Type', type]], 'PATCH', body);

  const labelled = await patch('application/merge-patch+json', { metadata: { labels: { a: 'b' } } });
  t.match(labelled.body, { metadata: { labels: { a: 'b' } } }, 'a merge patch adds members');
  const merged = await patch('application/strategic-merge-patch+json', {
    spec: {
      containers: [
        { name: 'c', image: 'new' },
        { name: 'd', image: 'second' },
      ],
    },
  });
  t.match(
    objectAt(merged.body, 'spec'),
    {
      containers: [
        { name: 'c', image: 'new', terminationMessagePolicy: 'File' },
        { name: 'd', image: 'second' },
      ],
    },
    'a strategic patch merges containers by their names',
  );
  const removed = await patch('application/json-patch+json', [{ op: 'remove', path: '/metadata/labels/a' }]);
  t.same(objectAt(objectAt(removed.body, 'metadata'), 'labels'), {}, 'a JSON patch removes');
  t.equal((await patch('text/plain', {})).status, 415, 'anything else is refused');
});

t.test('a refused upgrade answers with a Status and closes', async (t) => {
  const server = await start(t);
  server.seed.pod('p', { tenant: 'tenant1' });
  const path = '/api/v1/tenants/tenant1/namespaces/default/pods/p/exec?command=echo&stdout=1';
  const upgrade: [string, string][] = [['Connection', 'Upgrade'], ['Upgrade', 'SPDY/3.1'], AS_ALICE];
  const { status, body } = await ask(server, path, upgrade, 'POST', undefined, 'proxy');
  t.equal(status, 403);
  t.match(body, { reason: 'Forbidden', message: /cannot create resource "pods\/exec"/ });
});

t.test('exec over WebSocket needs only the right to get', async (t) => {
  const server = await start(t);
  const place = { tenant: 'tenant1' };
  server.seed.pod('p', place);
  server.seed.clusterRole('getter', [{ verbs: ['get'], apiGroups: [''], resources: ['pods/exec'] }], place);
  server.seed.clusterRoleBinding('getter', 'getter', ['user:tenant1:alice'], place);
  const path = '/api/v1/tenants/tenant1/namespaces/default/pods/p/exec?command=echo&command=hi&stdout=true';
  const channels = await exec(server, path, {
    Authorization: 'Bearer proxy',
    'Impersonate-User': 'tenant1:alice',
  });
  t.equal(channels[1], 'hi\n', 'output comes on channel 1');
  t.match(JSON.parse(channels[3] ?? ''), { status: 'Success' }, 'the outcome on channel 3');
});

for (const [tty, channel] of [
  [false, 2],
  [true, 1],
] as const) {
  t.test(`a command’s standard error is sent on channel ${channel} with tty=${tty}`, async (t) => {
    const server = await start(t);
    server.seed.pod('p', { tenant: 'tenant1' });
    const path = `/api/v1/tenants/tenant1/namespaces/default/pods/p/exec?command=nosuch&stdout=true&stderr=${!tty}&tty=${tty}`;
    const channels = await exec(server, path, {});
    t.same(Object.keys(channels), [String(channel), '3']);
    t.equal(channels[channel], 'nosuch: command not found\n');
    t.match(JSON.parse(channels[3] ?? ''), { status: 'Failure', reason: 'NonZeroExitCode' });
  });
}

t.test('faults', async (t) => {
  const server = await start(t);
  const attempt = async (kind: FaultKind): Promise<string> => {
    server.breakNext(kind);
    try {
      const response = await open(server, '/api/v1/tenants/tenant1/pods');
      for await (const _chunk of response);
      return String(response.statusCode);
    } catch (error) {
      return error instanceof Error && 'code' in error ? String(error.code) : String(error);
    }
  };
  t.equal(await attempt('half-body'), 'ECONNRESET', 'half a body');
  t.equal(await attempt('half-chunked'), 'ECONNRESET', 'half a chunked body');
  t.equal(await attempt('reset'), 'ECONNRESET', 'no answer at all');
  t.match(await attempt('garbage'), /^HPE_/, 'no HTTP');
  t.equal(await attempt('redirect'), '307');
  t.equal(await attempt('401'), '401');
  t.equal(await attempt('503'), '503');
  t.equal((await ask(server, '/api/v1/tenants/tenant1/pods')).status, 200, 'each holds for one request');
});

t.test('a hanging request is seen to be given up', async (t) => {
  const server = await start(t);
  server.breakNext('hang', ({ url }) => url === '/version');
  const sent = httpRequest(`${server.url}/version`, { agent: false });
  sent.on('error', () => sent.destroy());
  sent.end();
  const logged = await server.arrival(({ url }) => url === '/version');
  sent.destroy();
  t.equal(await logged.ended, 'aborted');
});

t.test('a restart breaks what is open and keeps the objects', async (t) => {
  const server = await start(t);
  server.seed.configMap('unchanged', {}, { tenant: 'tenant1' });
  const { url } = server;
  const watch = await open(server, '/api/v1/tenants/tenant1/configmaps?watch=true');
  const broken = once(watch, 'error');
  watch.resume();
  await server.restart();
  const [error] = await broken;
  t.match(error, { code: 'ECONNRESET' });
  t.equal(server.url, url, 'the address stays');
  const list = await ask(server, '/api/v1/tenants/tenant1/configmaps');
  t.match(list.body, { items: [{ metadata: { name: 'unchanged' } }] });
});

t.test('the tenant called all', async (t) => {
  const server = await start(t);
  const { seed } = server;
  seed.clusterRoleBinding('zeds', 'admin-role', ['group:zeds'], { tenant: 'tenant1' });
  const headers: [string, string][] = [
    ['Impersonate-User', 'all:zed'],
    ['Impersonate-Group', 'zeds'],
  ];
  const everywhere = await ask(server, '/api/v1/tenants/all/namespaces', headers, 'GET', undefined, 'proxy');
  const tenants = objectsAt(everywhere.body, 'items').map((item) =>
    textAt(objectAt(item, 'metadata'), 'tenant'),
  );
  t.same([...new Set(tenants)], ['system', 'tenant1'], "sees every tenant by one tenant's binding");
  const one = await ask(server, '/api/v1/tenants/tenant1/namespaces', headers, 'GET', undefined, 'proxy');
  t.equal(one.status, 403, 'and no single one');
});

t.test('client certificates', async (t) => {
  const authority = await createAuthority();
  const tls = { ...(await authority.server('127.0.0.1')), clientCA: authority.cert };
  for (const flavour of ['arktos', 'kubernetes'] as const) {
    const server = await createApiServer({ flavour, tls });
    t.teardown(() => server.close());
    const client = await authority.client('tenant1:alice', ['devs']);
    const sent = httpsRequest(`${server.url}/version`, { ...client, ca: authority.cert, agent: false }).end();
    const [response] = await once(sent, 'response');
    response.resume();
    t.match(server.requests.at(-1)?.user, {
      username: 'tenant1:alice',
      groups: ['devs', 'system:authenticated'],
      tenant: flavour === 'arktos' ? 'tenant1' : '',
    });
    const otherAuthority = await createAuthority('another CA');
    const forged = await otherAuthority.client('tenant1:alice', ['system:masters']);
    const refused = httpsRequest(`${server.url}/version`, {
      ...forged,
      ca: authority.cert,
      agent: false,
    }).end();
    const [answer] = await once(refused, 'response');
    answer.resume();
    t.equal(answer.statusCode, 401, 'a certificate of another authority proves nothing');
  }
});

t.test('a deleted namespace takes what is in it along', async (t) => {
  const server = await start(t);
  const place = { tenant: 'tenant1', namespace: 'doomed' };
  server.seed.namespace('doomed', { tenant: 'tenant1' });
  server.seed.configMap('inside', {}, place);
  await ask(server, '/api/v1/tenants/tenant1/namespaces/doomed', [], 'DELETE');
  const path = '/api/v1/tenants/tenant1/namespaces/doomed/configmaps/inside';
  t.equal((await ask(server, path)).status, 404);
  const refused = await ask(server, '/api/v1/tenants/tenant1/namespaces/default', [], 'DELETE');
  t.match(refused.body, { code: 403, message: /this namespace may not be deleted/ });
});
