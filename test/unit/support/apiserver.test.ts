/** The API server's stand-in beyond the recordings: impersonation, watches, patches, upgrades and faults. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { type ApiServer, createApiServer } from '../../support/apiserver/api-server.ts';
import { isObject, type JsonObject } from '../../support/apiserver/json.ts';
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
