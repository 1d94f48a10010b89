/**
 * Writes that Arktos has reviewed: four are sent at once for each URL of the webhook, of one tenant in turn.
 */
import t from 'tap';
import { type Account, STONEGATE_ACCOUNT } from '../../../src/kubernetes/upstream-request.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { createReviewedWrites } from '../../../src/upstream/reviewed-writes.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { codeOf, LIMITS, startRelay } from '../../support/raw-http/relay.ts';

const AT_ONCE = 4;
const TIMEOUT = 60_000;

const tenant = (name: string, guests = false): Account => ({
  kind: 'tenant',
  tenant: toTenantName(name),
  ...(guests && { guests: true }),
});
const [acme, globex] = [tenant('acme'), tenant('globex')];
const pathOf = (method: string, target: string) => (method === 'POST' ? target : undefined);

function setUp(tenantQueue = LIMITS.tenantQueue) {
  const clock = createFakeClock();
  const writes = createReviewedWrites({ clock, queueTimeout: TIMEOUT, tenantQueue, pathOf });
  /** Sends as many as may be sent. */
  function flood(account: Account, path = '/pods'): number {
    let sent = 0;
    const write = writes.of(account, 'POST', path);
    while (write?.tenant().tryAcquire() && write.url().tryAcquire()) sent += 1;
    return sent;
  }
  return { clock, writes, flood };
}

t.test('four writes are sent at once for each URL, then one of each tenant in turn', async (t) => {
  const { writes, flood } = setUp();
  t.equal(flood(acme), AT_ONCE);
  t.equal(flood(acme, '/jobs'), AT_ONCE);
  const sent: string[] = [];
  const send = (name: string, account: Account) => {
    const turns = writes.of(account, 'POST', '/pods')?.url();
    void turns?.acquire().then(() => sent.push(name));
    return turns;
  };
  const turns = send('acme', acme);
  send('acme', acme);
  send('globex', globex);
  send('stonegate', STONEGATE_ACCOUNT);
  for (let written = 0; written < AT_ONCE; written += 1) turns?.release();
  await eventually(() => sent.length === 4);
  t.same(sent, ['globex', 'stonegate', 'acme', 'acme']);
});

t.test('what no webhook reviews needs no permit', async (t) => {
  const { writes } = setUp();
  t.equal(writes.of(acme, 'GET', '/pods'), undefined);
  t.equal(writes.of({ kind: 'source', address: '192.0.2.1' }, 'POST', '/pods'), undefined);
});

t.test('guests of a tenant send one at once', async (t) => {
  const { flood } = setUp();
  t.equal(flood(tenant('acme', true)), 1);
  t.equal(flood(acme), AT_ONCE - 1);
});

t.test('a full queue is 429 for its tenant alone, and waiting ends with 504', async (t) => {
  const { clock, writes } = setUp({ requests: 2, bytes: 1_000 });
  const wait = (account: Account) =>
    writes.of(account, 'POST', '/pods')?.tenant().acquire(undefined, 500).catch(codeOf);
  for (const account of [acme, globex])
    for (let written = 0; written < AT_ONCE; written += 1) await wait(account);
  const waiting = [wait(acme), wait(acme), wait(globex)];
  t.equal(await wait(acme), 'TenantRateExceeded');
  clock.advance(TIMEOUT);
  t.same(await Promise.all(waiting), ['UpstreamTimeout', 'UpstreamTimeout', 'UpstreamTimeout']);
});

t.test('who cancels many writes gets 429: the API server calls the webhook all the same', async (t) => {
  const { clock, writes } = setUp();
  const write = () => writes.of(acme, 'POST', '/pods');
  for (let cancelled = 0; cancelled < 4; cancelled += 1) write()?.cancelled();
  t.throws(write, { code: 'TenantRateExceeded' });
  t.ok(writes.of(globex, 'POST', '/pods'));
  clock.advance(1_000);
  t.ok(write());
});

const POST = 'POST /pods HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\n\r\n{}';
const CREATED = 'HTTP/1.1 201 Created\r\n';

t.test('a response that the client does not read keeps no other write waiting', async (t) => {
  const relay = await startRelay({ pathOf });
  t.teardown(() => relay.close());
  for (let sent = 0; sent < AT_ONCE + 1; sent += 1) await relay.request(POST);
  await eventually(() => relay.upstream.connections.length === AT_ONCE);
  const [first] = relay.upstream.connections;
  await first?.until('{}');
  t.equal(relay.upstream.connections.length, AT_ONCE);
  first?.send(`${CREATED}Content-Length: 1000000\r\n\r\n`);
  await eventually(() => relay.upstream.connections.length === AT_ONCE + 1);
});

t.test('writes that wait for the turn of a URL keep no connection from other requests', async (t) => {
  const relay = await startRelay({ pathOf });
  t.teardown(() => relay.close());
  const { signal } = new AbortController();
  const send = (account: Account, method: string) =>
    void relay.adapter
      .fetch({ account, sender: { kind: 'stonegate' }, method, target: '/pods', headers: [] }, signal)
      .catch(codeOf);
  const tenants = Array.from({ length: 64 }, (_, at) => tenant(`tenant-${at}`));
  for (const account of tenants) for (let sent = 0; sent < AT_ONCE; sent += 1) send(account, 'POST');
  await eventually(() => relay.upstream.connections.length === AT_ONCE);
  send(globex, 'GET');
  await eventually(() => relay.upstream.connections.length === AT_ONCE + 1);
  await relay.upstream.connections[AT_ONCE]?.until('GET /pods');
});

t.test('permits are given back: later writes are sent as the first ones', async (t) => {
  const relay = await startRelay({ pathOf });
  t.teardown(() => relay.close());
  let sent = 0;
  for (let round = 0; round < 3; round += 1) {
    const clients = await Promise.all(Array.from({ length: AT_ONCE }, () => relay.request(POST)));
    sent += AT_ONCE;
    const arrived = () => relay.upstream.connections.flatMap(({ received }) => received.match(/\{\}/g) ?? []);
    await eventually(() => arrived().length === sent);
    for (const connection of relay.upstream.connections)
      connection.send(`${CREATED}Content-Length: 0\r\n\r\n`);
    await Promise.all(clients.map((client) => client.until('201 Created')));
  }
  t.equal(relay.upstream.connections.length, AT_ONCE);
});
