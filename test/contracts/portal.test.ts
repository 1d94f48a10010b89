/** What the portal stores in browsers and of a session, with a fixed secret, clock and random source. */
import { createHash } from 'node:crypto';
import t from 'tap';
import { createPortalSealer, createSharedSessions } from '../../src/features/portal/portal-storage.ts';
import { toTenantName } from '../../src/tenancy/tenant-name.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { ACME, createFakePortal, keystoneIdentity } from '../support/portal.ts';
import { createMemoryStore } from '../support/redis/memory-store.ts';
import { createReplica, sealingKey } from '../support/redis/replica.ts';
import { macOf, opened } from './opened.ts';
import { asJSON, sameAsRecorded } from './recorded.ts';

const START = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const SECRET = sealingKey(7);
const random = {
  bytes: (size: number) => Buffer.alloc(size, 9),
  uuid: () => '00000000-0000-4000-8000-000000000000',
  fraction: () => 0.5,
};

t.test('a session in Redis is as recorded', async (t) => {
  const clock = createFakeClock(START);
  const store = createMemoryStore();
  const { shared } = createReplica({
    ...{ clock, random, store: store.connect(), sealingKeys: [SECRET] },
    staleIfUnavailable: 8 * HOUR,
  });
  const sessions = createSharedSessions({ shared, configurationDigest: 'configuration', clock });
  const session = {
    identity: keystoneIdentity(START + HOUR),
    issuer: 'https://a.example',
    projects: [{ id: 'p1', name: 'web' }],
    expiresAt: START + HOUR,
  };
  const user = { username: 'acme:alice', uid: '', groups: [], extra: {} };
  await sessions.save('the-session', session, { tenant: toTenantName('acme'), user });
  const [[name = '', sealed = Buffer.alloc(0)] = []] = [...store.values];
  const digest = createHash('sha256').update('the-session').digest('base64url');
  t.equal(name, `stonegate:entry:${macOf(SECRET, ['entry', 'portal-session-2', digest, 'configuration'])}`);
  const inside: unknown = JSON.parse(opened(SECRET, sealed, [name]));
  sameAsRecorded(t, 'portal/session.json', asJSON({ name, inside }));
});

t.test('cookies and form tokens are as recorded', async (t) => {
  const clock = createFakeClock(START);
  const sealer = createPortalSealer([SECRET], random);
  const { browser } = createFakePortal({ clock, random, sealer });
  const visitor = browser();
  const lines = (name: string, { headers }: { readonly headers: readonly (readonly string[])[] }) =>
    headers.flatMap(([key, value]) => (key === 'Set-Cookie' ? [`${name}: ${value}`] : []));
  const first = lines('GET /login', await visitor.get('/login'));
  const formToken = visitor.formToken;
  const signedIn = lines('POST /login/keystone', await visitor.signIn());
  const token = Buffer.from(visitor.cookies.get('__Host-stonegate-keystone') ?? '', 'base64url');
  const purpose = `keystone-token ${visitor.cookies.get('__Host-stonegate')}`;
  t.equal(opened(SECRET, token, ['portal', purpose]), 'keystone-token');
  const other = browser();
  await other.get('/login');
  const begun = lines('GET /login/oidc', await other.get(`/login/oidc?provider=${ACME}&next=%2F`));
  const cookie = other.cookies.get('__Host-stonegate-oidc') ?? '';
  const inside: unknown = JSON.parse(opened(SECRET, Buffer.from(cookie, 'base64url'), ['portal', 'oidc']));
  sameAsRecorded(t, 'portal/browser.json', asJSON({ first, formToken, signedIn, begun, inside }));
});
