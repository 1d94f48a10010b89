/**
 * Writes that Arktos has reviewed: four for each URL of the webhook are sent at once, of one tenant in turn,
 * whatever a tenant does with its own connections, clients and bodies.
 */
import t from 'tap';
import { type Account, STONEGATE_ACCOUNT } from '../../../src/api/upstream-request.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { createAccountLimits } from '../../../src/upstream/account-limits.ts';
import { createReviewedWrites } from '../../../src/upstream/reviewed-writes.ts';
import type { Limiter } from '../../../src/upstream/write-permits.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { codeOf, LIMITS, startRelay } from '../../support/raw-http/relay.ts';

const AT_ONCE = 4;
const CONNECTIONS_PER_TENANT = 128;
const TIMEOUT = 60_000;

const tenant = (name: string, guests = false): Account => ({
  kind: 'tenant',
  tenant: toTenantName(name),
  ...(guests && { guests: true }),
});
const [acme, globex] = [tenant('acme'), tenant('globex')];
const isWrite = (method: string) => method === 'POST';
const pathOf = (method: string, target: string) => (isWrite(method) ? target : undefined);

/** Two sets of connections, as those for requests and those that provision. */
function setUp(tenantQueue = LIMITS.tenantQueue) {
  const clock = createFakeClock();
  const options = { clock, queueTimeout: TIMEOUT, tenantQueue };
  const reviewedWrites = createReviewedWrites({ ...options, pathOf });
  const [own, provisioning] = [1, 2].map(() =>
    createAccountLimits({ ...options, sources: 1, reviewedWrites }),
  );
  if (own === undefined || provisioning === undefined) throw new TypeError('no limits');
  const told: string[] = [];
  return {
    clock,
    told,
    own,
    provisioning,
    /** Tells `NAME` once it may be sent, or what it is refused with. */
    send(name: string, account: Account, { limits = own, path = '/pods', method = 'POST' } = {}): Limiter {
      const limiter = limits.limiterOf(account, method, path);
      if (limiter.tryAcquire()) told.push(name);
      else {
        const onRefused = (error: Error) => told.push(`${name} ${codeOf(error)}`);
        if (limiter.enqueue({ onAcquired: () => told.push(name), onRefused }, 100) === undefined)
          onRefused(limiter.queueFull());
      }
      return limiter;
    },
  };
}

function flood({ send }: ReturnType<typeof setUp>, account: Account, number: number): Limiter[] {
  return Array.from({ length: number }, (_, n) => send(`flood ${n}`, account));
}

/** The first of those that were sent ends. */
function end(sent: Limiter | undefined): void {
  sent?.release();
}

t.test('another tenant’s write, and Stonegate’s own, come next', async (t) => {
  const site = setUp();
  const sent = flood(site, acme, 20);
  t.equal(site.told.length, AT_ONCE);
  site.send('bob', globex);
  site.send('publishing', STONEGATE_ACCOUNT, { limits: site.provisioning });
  for (const write of sent.slice(0, AT_ONCE)) end(write);
  t.same(site.told.slice(AT_ONCE), ['bob', 'publishing', 'flood 4', 'flood 5']);
});

t.test('other URLs, and what no webhook reviews, do not wait', async (t) => {
  const site = setUp();
  flood(site, acme, 20);
  site.send('job', acme, { path: '/jobs' });
  site.send('read', acme, { method: 'GET' });
  t.same(site.told.slice(AT_ONCE), ['job', 'read']);
});

t.test('guests of a tenant share one of its writes', async (t) => {
  const { told, send } = setUp();
  for (const name of ['guest 1', 'guest 2']) send(name, tenant('acme', true));
  send('alice', acme);
  t.same(told, ['guest 1', 'alice']);
});

t.test('a tenant whose connections are all in use does not hold the turn of others', async (t) => {
  const site = setUp();
  const reads = Array.from({ length: CONNECTIONS_PER_TENANT }, () => site.send('', acme, { method: 'GET' }));
  site.told.length = 0;
  flood(site, acme, AT_ONCE);
  const others = Array.from({ length: AT_ONCE }, (_, n) => site.send(`bob ${n}`, globex));
  t.same(site.told, ['bob 0', 'bob 1', 'bob 2', 'bob 3']);
  end(reads[0]);
  t.equal(site.told.length, AT_ONCE, 'a connection alone is not enough');
  end(others[0]);
  t.equal(site.told[AT_ONCE], 'flood 0');
});

t.test(
  'both permits are given back: after any number of turns as many can be sent as at first',
  async (t) => {
    const site = setUp();
    for (let round = 0; round < 3; round += 1) {
      const reads = Array.from({ length: CONNECTIONS_PER_TENANT }, () =>
        site.send('', acme, { method: 'GET' }),
      );
      const writes = flood(site, acme, 2 * AT_ONCE);
      for (const read of reads) end(read);
      for (const write of writes) end(write);
      site.told.length = 0;
    }
    flood(site, acme, AT_ONCE + 1);
    t.equal(site.told.length, AT_ONCE);
    Array.from({ length: CONNECTIONS_PER_TENANT }, () => site.send('read', acme, { method: 'GET' }));
    t.equal(site.told.length, CONNECTIONS_PER_TENANT);
  },
);

t.test('a full queue is 429 for its tenant alone, and waiting ends with 504', async (t) => {
  const site = setUp({ requests: 2, bytes: 1_000 });
  flood(site, acme, AT_ONCE + 3);
  t.same(site.told.slice(AT_ONCE), [`flood ${AT_ONCE + 2} TenantRateExceeded`]);
  site.send('bob', globex);
  site.clock.advance(TIMEOUT);
  t.same(site.told.slice(AT_ONCE + 1).sort(), [
    'bob UpstreamTimeout',
    `flood ${AT_ONCE} UpstreamTimeout`,
    `flood ${AT_ONCE + 1} UpstreamTimeout`,
  ]);
});

t.test('who cancels writes soon has no turn: the API server calls the webhook all the same', async (t) => {
  const site = setUp();
  for (let cancelled = 0; cancelled < 2 * AT_ONCE; cancelled += 1) site.send('x', acme).releaseDelayed();
  site.told.length = 0;
  site.send('alice', acme);
  site.send('bob', globex);
  t.same(site.told, ['bob']);
  site.clock.advance(1_000);
  t.same(site.told, ['bob', 'alice']);
});

const POST = 'POST /pods HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\n\r\n{}';
const HEAD = 'HTTP/1.1 201 Created\r\nContent-Length: 1000000\r\n\r\n';

t.test('a response that the client does not read keeps no other write waiting', async (t) => {
  const relay = await startRelay({ pathOf });
  t.teardown(() => relay.close());
  const clients = await Promise.all(Array.from({ length: AT_ONCE + 1 }, () => relay.request(POST)));
  await eventually(() => relay.upstream.connections.length === AT_ONCE);
  const [first] = relay.upstream.connections;
  await first?.until('{}');
  t.equal(relay.upstream.connections.length, AT_ONCE);
  first?.send(HEAD);
  await eventually(() => relay.upstream.connections.length === AT_ONCE + 1);
  t.equal(clients.length, AT_ONCE + 1);
});
