/**
 * Whatever a tenant's clients do, they use that tenant's connections and queue: forwarded requests, reviews
 * and discovery, tunnels while they are negotiated, and the connections that cancelled requests cost.
 */
import t from 'tap';
import { type Account, STONEGATE_ACCOUNT } from '../../../src/kubernetes/upstream-request.ts';
import { STREAM_WINDOW } from '../../../src/limits/memory-bounds.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { createAccountLimits } from '../../../src/upstream/account-limits.ts';
import { DISCARD_TIMEOUT, MAX_DISCARDED_BYTES } from '../../../src/upstream/call-state.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import type { RawConnection } from '../../support/raw-http/raw-connection.ts';
import { codeOf, LIMITS, type Relay, relayFor } from '../../support/raw-http/relay.ts';

const PER_TENANT = 128;
const OF_ALL_TENANTS = 224;
const GET = 'GET /x HTTP/1.1\r\nHost: s\r\n\r\n';
const POST = 'POST /x HTTP/1.1\r\nHost: s\r\nContent-Length: 4\r\n\r\n1234';
const EXEC =
  'POST /exec HTTP/1.1\r\nHost: s\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';

const tenant = (name: string): Account => ({ kind: 'tenant', tenant: toTenantName(name) });
const source = (address: string): Account => ({ kind: 'source', address });

interface Fetched {
  status: number | undefined;
  error: unknown;
  cancel(): void;
}

function fetchOn({ adapter }: Relay, account: Account, target = '/'): Fetched {
  const client = new AbortController();
  const fetched: Fetched = { status: undefined, error: undefined, cancel: () => client.abort() };
  adapter
    .fetch({ account, sender: { kind: 'stonegate' }, method: 'POST', target, headers: [] }, client.signal)
    .then(
      ({ status }) => {
        fetched.status = status;
      },
      (error: unknown) => {
        fetched.error = error;
      },
    );
  return fetched;
}

function fetchMany(relay: Relay, account: Account, number: number): Fetched[] {
  return Array.from({ length: number }, () => fetchOn(relay, account));
}

const connectionsTo = (relay: Relay) => relay.upstream.connections.length;

async function requestsArrive(relay: Relay, number: number): Promise<RawConnection[]> {
  await eventually(() => connectionsTo(relay) >= number);
  const connections = [...relay.upstream.connections];
  await Promise.all(connections.map((connection) => connection.until('\r\n\r\n')));
  return connections;
}

t.test('Stonegate’s own requests for a tenant use that tenant’s connections, and no other’s', async (t) => {
  const relay = await relayFor(t);
  const acme = fetchMany(relay, tenant('acme'), PER_TENANT + 2);
  await requestsArrive(relay, PER_TENANT);
  const forwarded = await relay.request(GET);
  const globex = fetchMany(relay, tenant('globex'), OF_ALL_TENANTS - PER_TENANT);
  await requestsArrive(relay, OF_ALL_TENANTS);
  const initech = fetchOn(relay, tenant('initech'), '/initech');
  const others = [fetchOn(relay, STONEGATE_ACCOUNT), fetchOn(relay, source('192.0.2.1'))];
  const connections = await requestsArrive(relay, OF_ALL_TENANTS + 2);
  for (const connection of connections.slice(PER_TENANT)) connection.send(OK);
  await eventually(() => [...globex, ...others].every(({ status }) => status === 200));
  const asked = () => relay.upstream.connections.find(({ received }) => received.includes('/initech'));
  await eventually(() => asked() !== undefined);
  asked()?.send(OK);
  await eventually(() => initech.status === 200);
  t.same(
    acme.filter(({ status, error }) => status !== undefined || error !== undefined),
    [],
  );
  t.equal(forwarded.received, '');
});

t.test('token reviews for one source address leave room for those of another', async (t) => {
  const relay = await relayFor(t, { limits: { sources: 4 } });
  fetchMany(relay, source('192.0.2.1'), 10);
  await requestsArrive(relay, 2);
  fetchMany(relay, source('2001:db8::1'), 10);
  await requestsArrive(relay, 4);
  fetchOn(relay, STONEGATE_ACCOUNT);
  await requestsArrive(relay, 5);
  t.equal(connectionsTo(relay), 5);
});

t.test('a tenant whose queue is full gets a 429 at once', async (t) => {
  const queues = [
    { requests: 3, bytes: LIMITS.tenantQueue.bytes },
    { requests: 1_000, bytes: 3 * 8_500 },
  ];
  for (const tenantQueue of queues) {
    const relay = await relayFor(t, { limits: { tenantQueue } });
    fetchMany(relay, tenant('acme'), PER_TENANT + 3);
    await requestsArrive(relay, PER_TENANT);
    const refused = fetchOn(relay, tenant('acme'));
    await eventually(() => refused.error !== undefined);
    t.equal(codeOf(refused.error), 'TenantRateExceeded');
    t.match(refused.error, { message: /"acme" has too many requests waiting/ });
    const client = await relay.request(GET);
    t.match(await client.until('TenantRateExceeded'), /^HTTP\/1\.1 429 /);
    fetchOn(relay, tenant('globex'));
    await requestsArrive(relay, PER_TENANT + 1);
    t.same(relay.calls, [], 'the API server was not asked');
  }
});

t.test('a waiting request counts with as much of its body as may be buffered', async (t) => {
  const bytes = 2.5 * STREAM_WINDOW;
  const relay = await relayFor(t, { limits: { tenantQueue: { requests: 100, bytes } } });
  fetchMany(relay, tenant('acme'), PER_TENANT);
  await requestsArrive(relay, PER_TENANT);
  const large = 'POST /x HTTP/1.1\r\nHost: s\r\nContent-Length: 90000000\r\n\r\n';
  for (let waiting = 0; waiting < 2; waiting += 1) await relay.request(large);
  await eventually(() => relay.clock.pending === 2);
  const [refused, small] = [await relay.request(large), await relay.request(POST)];
  t.match(await refused.until('TenantRateExceeded'), /^HTTP\/1\.1 429 /);
  t.equal(small.received, '');
});

t.test('a tunnel uses a connection of its tenant until the API server has switched protocols', async (t) => {
  const relay = await relayFor(t, { longRunning: true });
  const clients = await Promise.all(Array.from({ length: PER_TENANT }, () => relay.request(EXEC)));
  const connections = await requestsArrive(relay, PER_TENANT);
  const next = await relay.request(EXEC);
  const left = await relay.request(EXEC);
  const fetched = fetchOn(relay, tenant('acme'));
  await eventually(() => relay.clock.untilNext < Number.POSITIVE_INFINITY);
  left.socket.destroy();
  t.match(await relay.ending(), { result: { aborted: true } });
  t.equal(connectionsTo(relay), PER_TENANT);
  connections[0]?.send(SWITCHING);
  const opened = (await requestsArrive(relay, PER_TENANT + 1)).at(-1);
  opened?.send(SWITCHING);
  await next.until('101 Switching');
  const reviewed = (await requestsArrive(relay, PER_TENANT + 2)).at(-1);
  reviewed?.send(OK);
  await eventually(() => fetched.status === 200);
  t.equal(clients.filter(({ received }) => received.includes('101')).length, 1);
});

function limitsFor() {
  const clock = createFakeClock();
  return { clock, limits: createAccountLimits({ clock, queueTimeout: 10_000, ...LIMITS }) };
}

t.test('a tenant may begin 5,000 long-running requests at once, then 50 a second', async (t) => {
  const { limits, clock } = limitsFor();
  const begin = () => limits.admit(tenant('acme'), 1);
  for (let begun = 0; begun < 5_000; begun += 1) begin();
  t.throws(begin, { code: 'TenantRateExceeded' });
  limits.admit(tenant('acme'), 0);
  limits.admit(tenant('globex'), 1);
  clock.advance(20);
  begin();
  t.throws(begin, { code: 'TenantRateExceeded' });
});

t.test('the guests of a tenant together have a quarter of its connections', async (t) => {
  const { limits } = limitsFor();
  const guest: Account = { kind: 'tenant', tenant: toTenantName('acme'), guests: true };
  let count = 0;
  while (limits.partOf(guest)?.tryAcquire()) count += 1;
  t.equal(count, PER_TENANT / 4);
  t.equal(limits.partOf(tenant('acme')), undefined);
  t.equal(limits.connectionsOf(guest), limits.connectionsOf(tenant('acme')));
});

t.test('cancelled requests', async (t) => {
  /** Sends a request and cancels it after it has arrived. */
  async function cancelled(relay: Relay, text: string, answer = ''): Promise<RawConnection> {
    const client = await relay.request(text);
    const connection = await relay.upstream.next('/x');
    connection.send(answer);
    if (answer !== '') await client.until('200 OK');
    client.socket.destroy();
    t.match(await relay.ending(), { result: { aborted: true } });
    return connection;
  }

  t.test('a cancelled GET costs no connection: its response is read to its end', async (t) => {
    for (const sent of ['', OK.slice(0, -1)]) {
      const relay = await relayFor(t);
      const connection = await cancelled(relay, GET, sent);
      connection.send(OK.slice(sent.length));
      await eventually(() => relay.clock.untilNext > DISCARD_TIMEOUT);
      const next = await relay.request(GET.replace('/x', '/next'));
      await connection.until('/next');
      connection.send('HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n');
      t.match(await next.until('\r\n\r\n'), /^HTTP\/1\.1 201 /);
      t.equal(connectionsTo(relay), 1);
    }
  });

  t.test('a cancelled POST ends at once, with its connection', async (t) => {
    const relay = await relayFor(t);
    await (await cancelled(relay, POST)).untilEnd();
  });

  for (const [what, response, milliseconds] of [
    ['is too large', `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(MAX_DISCARDED_BYTES + 1)}`, 0],
    ['takes too long', OK.slice(0, -1), DISCARD_TIMEOUT / 2],
  ] as const)
    t.test(`the response to a cancelled GET is not read to its end if it ${what}`, async (t) => {
      const relay = await relayFor(t);
      const connection = await cancelled(relay, GET);
      relay.clock.advance(milliseconds);
      connection.send(response);
      relay.clock.advance(milliseconds);
      await connection.untilEnd();
    });

  t.test(
    'a tenant that cancels again and again gets 429, and few connections are closed for it',
    async (t) => {
      const relay = await relayFor(t);
      for (const text of [GET, POST]) {
        for (let round = 0; round < 3; round += 1) {
          const clients = await Promise.all(Array.from({ length: 200 }, () => relay.request(text)));
          const refused = () => clients.every(({ received }) => received.includes('429'));
          await eventually(() => relay.clock.pending > 0 || refused());
          for (const { socket } of clients) socket.destroy();
          for (const _client of clients) await relay.ending();
          relay.clock.advance(DISCARD_TIMEOUT);
        }
      }
      // Each advance of two seconds allows 40 more; those under way at the last one allowed are closed too.
      t.ok(connectionsTo(relay) <= 128 + PER_TENANT + 6 * 40, `${connectionsTo(relay)} connections`);
      const before = connectionsTo(relay);
      const other = fetchOn(relay, tenant('globex'));
      const [connection] = (await requestsArrive(relay, before + 1)).slice(before);
      connection?.send(OK);
      await eventually(() => other.status === 200);
    },
  );
});
