/**
 * Whatever the clients of one tenant do, another tenant's requests reach the API server. Here alice of acme
 * is hostile, and bob of globex works.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { request as httpsRequest } from 'node:https';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { posted } from '../support/https-client.ts';
import { isForClient } from '../support/own-questions.ts';
import { type RunningStonegate, startStonegate } from '../support/stonegate.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const SELF_ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const REVIEW = JSON.stringify({
  kind: 'SelfSubjectAccessReview',
  apiVersion: 'authorization.k8s.io/v1',
  spec: { resourceAttributes: { verb: 'list', resource: 'configmaps', namespace: 'default' } },
});
const JSON_BODY = { 'content-type': 'application/json' };
/** Connections of one tenant: half of the 256 to the API server. */
const PER_TENANT = 128;
/** Concurrent streams of one connection. */
const STREAMS = 100;

/** Sends many requests at once over a few connections. */
class Attacker {
  readonly streams: ClientHttp2Stream[] = [];
  readonly #sessions: ClientHttp2Session[] = [];
  readonly #stonegate: RunningStonegate;
  readonly #token: string;
  #statuses = new Map<ClientHttp2Stream, number>();

  constructor(stonegate: RunningStonegate, token: string) {
    this.#stonegate = stonegate;
    this.#token = token;
  }

  /** Statuses of the responses so far. */
  get statuses() {
    return [...this.#statuses.values()];
  }

  /** @param fields of the request of this number */
  send(
    number: number,
    fields: (index: number) => OutgoingHttpHeaders,
    each?: (stream: ClientHttp2Stream) => void,
  ) {
    let session: ClientHttp2Session | undefined;
    for (let index = 0; index < number; index += 1) {
      if (session === undefined || index % STREAMS === 0) {
        session = connect(this.#stonegate.url, { ca: this.#stonegate.authority.cert });
        session.on('error', () => undefined);
        this.#sessions.push(session);
      }
      const stream = session.request(
        { authorization: `Bearer ${this.#token}`, ':path': CONFIGMAPS, ...fields(index) },
        { endStream: false },
      );
      stream.on('error', () => undefined).resume();
      stream.on('response', ({ ':status': status }) => this.#statuses.set(stream, status ?? 0));
      if (each === undefined) stream.end();
      else each(stream);
      this.streams.push(stream);
    }
  }

  leave() {
    for (const session of this.#sessions) session.destroy();
  }
}

async function start(t: Test) {
  const stonegate = await startStonegate(t, {
    // Hundreds of handshakes with both ends in this process take long.
    configuration: { upstream: { timeouts: { connect: '60s' } } },
  });
  const { ask, keystoneToken } = stonegate;
  const [alice, bob] = [keystoneToken('alice'), keystoneToken('bob')];
  const attacker = new Attacker(stonegate, alice);
  t.teardown(() => attacker.leave());
  for (const token of [alice, bob]) t.equal((await ask(token, CONFIGMAPS)).status, 200);
  const arrived = (matches: (method: string, url: string) => boolean) =>
    stonegate.apiServer.requests.filter(isForClient).filter(({ method, url }) => matches(method, url)).length;
  return { stonegate, alice, bob, attacker, arrived };
}

/** Checks that bob's requests succeed. */
async function checkService({ ask }: RunningStonegate, token: string, t: Test, meanwhile: string) {
  const statuses = [
    (await ask(token, CONFIGMAPS)).status,
    (await ask(token, '/apis')).status,
    (await ask(token, SELF_ACCESS_REVIEWS, posted(REVIEW))).status,
  ];
  t.same(statuses, [200, 200, 201], `bob's requests succeed during ${meanwhile}`);
}

t.test('endless uploads of one tenant do not delay other tenants', async (t) => {
  const { stonegate, alice, bob, attacker, arrived } = await start(t);
  const posts = () => arrived((method) => method === 'POST');
  attacker.send(
    300,
    () => ({ ':method': 'POST', ...JSON_BODY, 'content-length': 1_000 }),
    (stream) => stream.write('{'),
  );
  await eventually(() => posts() >= PER_TENANT);
  t.equal((await stonegate.ask(bob, CONFIGMAPS)).status, 200);
  t.equal((await stonegate.ask(bob, CONFIGMAPS)).status, 200);
  t.equal(posts(), PER_TENANT, 'the tenant has half of the connections');
  t.same(attacker.statuses, []);

  // A client that disconnects makes room for the tenant's next request.
  for (const upload of attacker.streams) upload.close();
  t.equal((await stonegate.ask(alice, CONFIGMAPS)).status, 200);
});

t.test('D523 a tenant that attacks in every way does not stop other tenants', async (t) => {
  const { stonegate, alice, bob, attacker } = await start(t);
  const reset = (stream: ClientHttp2Stream) => {
    setImmediate(() => stream.close());
  };
  const ways: Readonly<Record<string, () => void>> = {
    'slow bodies': () =>
      attacker.send(
        150,
        () => ({ ':method': 'POST', ...JSON_BODY }),
        (stream) => stream.write('{'),
      ),
    'slow bodies of reviews': () =>
      attacker.send(
        100,
        () => ({ ':method': 'POST', ':path': SELF_ACCESS_REVIEWS, ...JSON_BODY }),
        (stream) => stream.write('{'),
      ),
    'cancelled reads': () => attacker.send(400, () => ({}), reset),
    'cancelled writes': () =>
      attacker.send(
        400,
        () => ({ ':method': 'POST', ...JSON_BODY }),
        (stream) => {
          stream.end('{}');
          reset(stream);
        },
      ),
    impersonations: () =>
      attacker.send(200, (index) => ({
        'impersonate-user': `somebody-${index}`,
        'impersonate-group': Array.from({ length: 63 }, (_, group) => `group-${group}`),
      })),
    'self reviews': () =>
      attacker.send(
        300,
        () => ({ ':method': 'POST', ':path': SELF_ACCESS_REVIEWS, ...JSON_BODY }),
        (stream) => stream.end(REVIEW),
      ),
    discovery: () => attacker.send(300, (index) => ({ ':path': `/apis/apps/v1?timeout=${index}s` })),
    watches: () => attacker.send(400, () => ({ ':path': `${CONFIGMAPS}?watch=1` })),
    'cancelled watches': () => attacker.send(200, () => ({ ':path': `${CONFIGMAPS}?watch=1` }), reset),
    tunnels: () => {
      for (let tunnel = 0; tunnel < 100; tunnel += 1) openTunnel(stonegate, alice);
    },
    'new tokens': () => attacker.send(300, (index) => ({ authorization: `Bearer gAAAAA-unknown-${index}` })),
  };
  for (const [way, attack] of Object.entries(ways)) {
    attack();
    await checkService(stonegate, bob, t, way);
  }
  await checkService(stonegate, bob, t, 'all of it');
});

function openTunnel({ app, authority }: RunningStonegate, token: string) {
  const request = httpsRequest({
    host: '127.0.0.1',
    port: app.address.port,
    ca: authority.cert,
    method: 'POST',
    path: '/api/v1/namespaces/default/pods/web/exec?command=sh&stdin=true&stdout=true',
    headers: { authorization: `Bearer ${token}`, connection: 'Upgrade', upgrade: 'SPDY/3.1' },
  });
  request
    .on('error', () => undefined)
    .on('upgrade', (_response, socket) => socket.on('error', () => undefined))
    .end();
}
