/** Writes that Arktos has reviewed: each tenant has two at the API server for each URL of the webhook. */
import t from 'tap';
import { type Account, STONEGATE_ACCOUNT } from '../../../src/kubernetes/upstream-request.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { DISCARD_TIMEOUT } from '../../../src/upstream/call-state.ts';
import { createReviewedWritePermits } from '../../../src/upstream/reviewed-write-permits.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { codeOf, LIMITS, relayFor } from '../../support/raw-http/relay.ts';

const TIMEOUT = 60_000;
const POST = 'POST /pods HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\n\r\n{}';

const tenant = (name: string, guests = false): Account => ({
  kind: 'tenant',
  tenant: toTenantName(name),
  ...(guests && { guests: true }),
});
const [acme, globex] = [tenant('acme'), tenant('globex')];
const pathOf = (method: string, target: string) => (method === 'POST' ? target : undefined);

function setUp(tenantQueue = LIMITS.tenantQueue) {
  const clock = createFakeClock();
  const writes = createReviewedWritePermits({ clock, queueTimeout: TIMEOUT, tenantQueue, pathOf });
  return { clock, writes };
}

t.test('each tenant, its guests and Stonegate may have a few writes for each webhook URL', async (t) => {
  const { writes } = setUp();
  for (const [account, path, permits] of [
    [acme, '/pods', 2],
    [acme, '/jobs', 2],
    [tenant('acme', true), '/pods', 1],
    [globex, '/pods', 2],
    [STONEGATE_ACCOUNT, '/pods', 2],
  ] as const) {
    let sent = 0;
    while (writes.of(account, 'POST', path)?.tryAcquire()) sent += 1;
    t.equal(sent, permits);
  }
  t.equal(writes.of(acme, 'GET', '/pods'), undefined);
  t.equal(writes.of({ kind: 'source', address: '192.0.2.1' }, 'POST', '/pods'), undefined);
});

t.test('a full queue is a 429 for its tenant alone, and a wait that is too long a 504', async (t) => {
  const { clock, writes } = setUp({ requests: 2, bytes: 1_000 });
  const wait = (account: Account) =>
    writes.of(account, 'POST', '/pods')?.acquire(undefined, 500).catch(codeOf);
  for (const account of [acme, acme, globex, globex]) await wait(account);
  const waiting = [wait(acme), wait(acme), wait(globex)];
  t.equal(await wait(acme), 'TenantRateExceeded');
  clock.advance(TIMEOUT);
  t.same(await Promise.all(waiting), ['UpstreamTimeout', 'UpstreamTimeout', 'UpstreamTimeout']);
});

t.test('a client that does not read its response keeps no other write waiting', async (t) => {
  const relay = await relayFor(t, { pathOf });
  for (let sent = 0; sent < 3; sent += 1) await relay.request(POST);
  const [first, second] = [await relay.upstream.next(), await relay.upstream.next()];
  await Promise.all([first.until('{}'), second.until('{}')]);
  t.equal(relay.upstream.connections.length, 2);
  first.send('HTTP/1.1 201 Created\r\nContent-Length: 1000000\r\n\r\n');
  await (await relay.upstream.next()).until('{}');
});

t.test('a cancelled write counts until the API server has responded', async (t) => {
  const relay = await relayFor(t, { pathOf });
  const clients = [await relay.request(POST), await relay.request(POST)];
  const [first, second] = [await relay.upstream.next(), await relay.upstream.next()];
  await Promise.all([first.until('{}'), second.until('{}')]);
  for (const { socket } of clients) socket.destroy();
  for (const _client of clients) t.match(await relay.ending(), { result: { aborted: true } });
  await relay.request(POST);
  await eventually(() => relay.clock.pending === 2);
  t.equal(relay.upstream.connections.length, 2);
  relay.clock.advance(DISCARD_TIMEOUT);
  await (await relay.upstream.next()).until('{}');
});
