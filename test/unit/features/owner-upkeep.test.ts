/** Stored objects follow the sign-ins of their owners. */
import t from 'tap';
import {
  createInvitationStore,
  endOf,
  type Invitation,
  storableInvitation,
} from '../../../src/features/invitations/invitation-store.ts';
import { STORED_INVITATIONS } from '../../../src/features/invitations/invitation-v1alpha1.ts';
import { OwnerUpkeep } from '../../../src/features/owner-upkeep.ts';
import { createOwners, ownerKey } from '../../../src/identity/owners.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { TENANCY_FACTS } from '../../../src/tenancy/facts.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { claimIdentity } from '../../support/identities.ts';
import { createMemoryObjects } from '../../support/memory-objects.ts';

const PLACE = { namespace: 'stonegate' };
const DAY = 24 * 3_600_000;
const INVITED = claimIdentity('oidc:alice', 'acme', { groups: ['oidc:editors'] });

/** A stored invitation, and replicas that keep it up. */
function setUp(clock: FakeClock) {
  const objects = createMemoryObjects();
  const now = clock.now();
  objects.put(STORED_INVITATIONS, PLACE, {
    metadata: { name: 'abcd1234' },
    spec: {
      ...{ namespace: 'shop', role: 'edit', tenant: 'acme', inviter: 'oidc:alice', digest: '00' },
      identity: JSON.stringify(INVITED),
      invited: new Date(now).toISOString(),
      expires: new Date(now + 7 * DAY).toISOString(),
    },
  });
  const replica = () => {
    const store = createInvitationStore(() => {});
    /** The replica sees what is stored now. */
    const stored = (): readonly Invitation[] => {
      const list = store.filled.beginList();
      list.take(objects.all().map(({ object }) => storableInvitation({ value: object, text: () => '' })));
      list.end();
      store.onUpdate();
      return [...store.values()];
    };
    stored();
    const upkeep = new OwnerUpkeep<Invitation>({
      kind: STORED_INVITATIONS,
      store,
      identityOf: ({ identity }) => identity,
      endedAt: (invitation, at) => endOf(invitation, at)?.at,
      ...{ objects, place: PLACE, clock, logger: silentLogger },
      owners: createOwners({
        ...{ isConfigured: () => true, usersOf: () => undefined, facts: TENANCY_FACTS.shared },
        ...{ signInMaxAge: 30 * DAY, clock },
      }),
    });
    upkeep.start();
    return { stored, upkeep };
  };
  return { objects, replica };
}

/** Lets the time pass, and the upkeep finish its work. */
async function pass(clock: FakeClock, milliseconds: number): Promise<void> {
  clock.advance(milliseconds);
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

t.test('the groups of a later sign-in are stored', async (t) => {
  const clock = createFakeClock(Date.UTC(2026, 0, 1));
  const { objects, replica } = setUp(clock);
  const { stored, upkeep } = replica();
  t.equal(stored()[0]?.ownerKey, ownerKey(INVITED, 'acme'));
  await pass(clock, 200);
  const reader = { ...INVITED, groups: ['oidc:readers'] };
  upkeep.signedIn(claimIdentity('oidc:carol'), 'acme');
  upkeep.signedIn(reader, 'acme');
  objects.before = () => {
    objects.before = () => {};
    objects.put(STORED_INVITATIONS, PLACE, objects.all()[0]?.object ?? {});
  };
  await pass(clock, 200);
  await pass(clock, 200);
  t.match(stored(), [{ identity: { groups: ['oidc:readers'] } }]);
  await upkeep.stop();
});

for (const known of ['is stored', 'waits to be written', 'was written by another replica'] as const)
  t.test(`an earlier sign-in does not bring back lost groups if a later one ${known}`, async (t) => {
    const clock = createFakeClock(Date.UTC(2026, 0, 1));
    const { replica } = setUp(clock);
    const [one, other] = [replica(), replica()];
    clock.advance(DAY);
    const earlier = { ...INVITED, signedInAt: clock.now() };
    clock.advance(DAY);
    const later = { ...INVITED, groups: ['oidc:readers'], signedInAt: clock.now() };
    (known === 'was written by another replica' ? other : one).upkeep.signedIn(later, 'acme');
    if (known !== 'waits to be written') await pass(clock, 200);
    if (known === 'is stored') one.stored();
    one.upkeep.signedIn(earlier, 'acme');
    await pass(clock, 200);
    await pass(clock, 200);
    t.match(one.stored(), [{ identity: { groups: ['oidc:readers'] }, signedInAt: later.signedInAt }]);
    for (const { upkeep } of [one, other]) await upkeep.stop();
  });

t.test('a sign-in before the invitation does not change its groups', async (t) => {
  const clock = createFakeClock(Date.UTC(2026, 0, 1));
  const { stored, upkeep } = setUp(clock).replica();
  upkeep.signedIn({ ...INVITED, groups: ['oidc:former'], signedInAt: clock.now() - DAY }, 'acme');
  await pass(clock, 200);
  t.match(stored(), [{ identity: { groups: ['oidc:editors'] } }]);
  await upkeep.stop();
});
