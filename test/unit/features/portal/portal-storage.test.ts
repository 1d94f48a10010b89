import t from 'tap';
import { drop } from '../../../../src/cache/drops.ts';
import {
  createMemorySessions,
  createPortalSealer,
  createSharedSessions,
  type Session,
} from '../../../../src/features/portal/portal-storage.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { keystoneIdentity } from '../../../support/portal.ts';
import { createMemoryStore } from '../../../support/redis/memory-store.ts';
import { createReplica, sealingKey } from '../../../support/redis/replica.ts';

const ID = 'i'.repeat(43);
const HOUR = 3_600_000;
const KNOWN = {
  tenant: toTenantName('acme'),
  user: { username: 'acme:alice', uid: '', groups: [], extra: {} },
};

function setUp() {
  const clock = createFakeClock();
  const store = createMemoryStore();
  const session: Session = {
    identity: keystoneIdentity(clock.now() + HOUR),
    projects: [{ id: 'p1', name: 'web' }],
    expiresAt: clock.now() + HOUR,
  };
  const join = (configurationDigest = 'configuration') => {
    const connection = store.connect();
    const { shared } = createReplica({ clock, store: connection, staleIfUnavailable: 8 * HOUR });
    return { connection, shared, sessions: createSharedSessions({ shared, configurationDigest, clock }) };
  };
  return { clock, store, session, join };
}

t.test('a session is stored, and removed, for all replicas', async (t) => {
  const { join, session } = setUp();
  const [one, other] = [join(), join()];
  t.equal(await one.sessions.save(ID, session, KNOWN), true);
  t.same(await other.sessions.find(ID), session);
  t.equal(await other.sessions.remove(ID), true);
  t.equal(await one.sessions.find(ID), undefined);
});

t.test('dropping the user, by id or by name, or the tenant ends the session', async (t) => {
  for (const target of [{ user: 'u1' }, { user: 'acme:alice' }, { tenant: 'acme' }]) {
    const { clock, join, session } = setUp();
    const { sessions, shared } = join();
    await sessions.save(ID, session, KNOWN);
    clock.advance(1);
    await drop(shared, target);
    t.equal(await sessions.find(ID), undefined, JSON.stringify(target));
  }
});

t.test('the result says so if Redis stores or removes nothing', async (t) => {
  const { join, session } = setUp();
  const { sessions, connection } = join();
  connection.full = true;
  t.equal(await sessions.save(ID, session, KNOWN), false);
  connection.away = true;
  t.equal(await sessions.save(ID, session, KNOWN), false);
  t.equal(await sessions.remove(ID), false);
  t.equal(await sessions.find(ID), undefined);
});

t.test('without Redis, sessions are stored in the process, and end by expiry or removal', async (t) => {
  const { clock, session } = setUp();
  const sessions = createMemorySessions({ maxSessions: 2, clock });
  t.equal(await sessions.save(ID, session, KNOWN), true);
  t.same(await sessions.find(ID), session);
  t.equal(await sessions.remove(ID), true);
  t.equal(await sessions.find(ID), undefined);
  await sessions.save(ID, session, KNOWN);
  clock.advance(HOUR);
  t.equal(await sessions.find(ID), undefined);
});

t.test('after a rotation the old key still opens and verifies', async (t) => {
  const before = createPortalSealer([sealingKey(1)], systemRandom);
  const after = createPortalSealer([sealingKey(2), sealingKey(1)], systemRandom);
  t.equal(after.open(before.seal('text', 'oidc'), 'oidc'), 'text');
  t.equal(after.open(before.seal('text', 'oidc'), 'another purpose'), undefined);
  t.equal(before.open(after.seal('text', 'oidc'), 'oidc'), undefined);
  t.equal(after.verify(before.mac(['a']), ['a']), true);
  t.equal(after.verify(before.mac(['a']), ['b']), false);
  t.equal(before.verify(after.mac(['a']), ['a']), false);
});
