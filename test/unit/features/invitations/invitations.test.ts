/**
 * Who may invite, and what becomes of an invitation.
 */
import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { type Identity, VERIFIED_EMAIL } from '../../../../src/tenancy/identity.ts';
import { claimIdentity, keystoneIdentity, upstreamIdentity } from '../../../support/identities.ts';
import {
  createInvitationWorld,
  type InvitationWorld,
  REQUEST,
  secretOf,
} from '../../../support/invitation-world.ts';
import { tokenScope } from '../../../support/token-scope.ts';

const ALICE = keystoneIdentity('alice');
const BOB = keystoneIdentity('bob', { auditAnnotations: { [VERIFIED_EMAIL]: 'bob@Example.com' } });
const CAROL = keystoneIdentity('carol');
const MANAGER = keystoneIdentity('manager');
const GINA = keystoneIdentity('gina', {
  home: 'globex',
  auditAnnotations: { [VERIFIED_EMAIL]: 'bob@example.com' },
});
const EDIT = { namespace: 'shop', role: 'edit' };
const WEEK = 7 * 24 * 3_600_000;

function setUp() {
  const world = createInvitationWorld();
  const invitations = world.addReplica();
  return {
    ...{ world, invitations },
    invite: (spec: object = EDIT, identity: Identity = ALICE) =>
      invitations.invite(identity, { ...spec }, REQUEST),
    accept: (identity: Identity, secret: string) => invitations.accept(identity, secret, REQUEST),
    show: (identity: Identity, secret: string) => invitations.show(identity, secret, REQUEST),
  };
}

async function refusal(asked: Promise<unknown>): Promise<object> {
  try {
    return { given: await asked };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const { code, message, details } = error;
    return { code, message, details };
  }
}

function stateOf(world: InvitationWorld) {
  return world.stored().map(({ ended }) => ended?.state ?? 'open');
}

t.test('the invited user sees who invites them to what, and gets it by accepting', async (t) => {
  const { world, invitations, invite, accept, show } = setUp();
  const made = await invite();
  t.match(made, { spec: EDIT, status: { state: 'open', inviter: 'acme:alice' } });
  t.match(made.status.link, /^https:\/\/portal\.example\.com\/invitation\/sgi_\w{46}$/);
  const secret = secretOf(made);
  t.match(await show(BOB, secret), { ...EDIT, inviter: 'acme:alice', accepted: false });
  t.same(world.gifts, []);
  t.match(await accept(BOB, secret), { ...EDIT, accepted: true });
  t.same(world.gifts, [{ inviter: 'acme:alice', target: EDIT, username: 'acme:bob' }]);
  const [listed] = await invitations.list(ALICE);
  t.match(listed?.status, { state: 'accepted', reason: 'accepted by acme:bob', link: undefined });
  t.notMatch(JSON.stringify(world.objects.all()), secret, 'the secret is not stored');
});

t.test('an invitation gives either a role in a namespace or a place in a team', async (t) => {
  const { invite } = setUp();
  for (const spec of [{}, { namespace: 'shop' }, { role: 'edit' }, { ...EDIT, team: 'web' }])
    t.match(await refusal(invite(spec)), { code: 'ObjectInvalid' });
});

t.test('only users who can be looked up again at an acceptance may invite', async (t) => {
  const { invite } = setUp();
  t.match(await refusal(invite(EDIT, upstreamIdentity('acme:alice'))), { code: 'OwnerUnusable' });
});

t.test('D437 every other acceptance gets the same 404, and changes nothing', async (t) => {
  const { world, invite, accept, show } = setUp();
  const forBob = secretOf(await invite({ ...EDIT, email: 'bob@EXAMPLE.com' }));
  const forAnyone = secretOf(await invite());
  const used = secretOf(await invite());
  await accept(BOB, used);
  const unknown = secretOf(await createInvitationWorld().addReplica().invite(ALICE, EDIT, REQUEST));
  const before = JSON.stringify(world.objects.all());
  const refused: Record<string, [Identity, string]> = {
    'another account': [CAROL, forBob],
    'an address with another spelling of the name': [
      { ...BOB, auditAnnotations: { [VERIFIED_EMAIL]: 'Bob@example.com' } },
      forBob,
    ],
    'an account of another tenant with the address': [GINA, forBob],
    'another tenant': [GINA, forAnyone],
    'a second use': [BOB, used],
    'an invitation that never existed': [BOB, unknown],
    'another secret with the same id': [BOB, `sgi_${forAnyone.slice(4, 12)}${unknown.slice(12)}`],
    'a typo': [BOB, `${forAnyone}x`],
    'no secret': [BOB, ''],
  };
  const answers = [];
  for (const [why, [identity, secret]] of Object.entries(refused))
    for (const answer of [accept, show]) {
      const found = await refusal(answer(identity, secret));
      t.match(found, { code: 'NotFound' }, why);
      answers.push(JSON.stringify(found));
    }
  t.equal(JSON.stringify(world.objects.all()), before);
  world.clock.advance(WEEK);
  answers.push(JSON.stringify(await refusal(accept(BOB, forAnyone))));
  t.equal(new Set(answers).size, 1);
  t.equal(world.gifts.length, 1);
});

t.test('an invitation stays open while the API server cannot be asked about the inviter', async (t) => {
  const { world, invite, accept } = setUp();
  const secret = secretOf(await invite());
  world.objects.before = (verb) => {
    if (verb === 'get') throw new StatusError('UpstreamUnavailable', 'down');
  };
  t.match(await refusal(accept(BOB, secret)), { code: 'UpstreamUnavailable' });
  world.objects.before = () => {};
  world.busy = true;
  t.match(await refusal(accept(BOB, secret)), { code: 'TenantRateExceeded' });
  world.busy = false;
  t.match(await accept(BOB, secret), { accepted: true });
});

t.test('an invitation that was claimed does not become open again', async (t) => {
  const { world, invitations, invite, accept } = setUp();
  const secret = secretOf(await invite());
  world.outage = 'after';
  t.match(await refusal(accept(BOB, secret)), { code: 'UpstreamTimeout' });
  world.outage = undefined;
  t.match(await refusal(accept(CAROL, secret)), { code: 'NotFound' });
  const [listed] = await invitations.list(ALICE);
  t.match(listed?.status, { state: 'refused', reason: /acme:bob accepted it, .*invite again/ });
});

t.test('a sign-in of the inviter at the same time does not disturb an acceptance', async (t) => {
  const { world, invite, accept } = setUp();
  const secret = secretOf(await invite());
  let isFirst = true;
  world.objects.before = (verb, kind, place, name) => {
    const found = world.objects.find(kind, place, name);
    if (verb === 'update' && isFirst && found !== undefined) world.objects.put(kind, place, found);
    if (verb === 'update') isFirst = false;
  };
  t.match(await accept(BOB, secret), { accepted: true });
  t.equal(world.gifts.length, 1);
});

t.test('the inviter, and users who may give the same role, can see and withdraw an invitation', async (t) => {
  for (const identity of [ALICE, MANAGER]) {
    const { world, invitations, invite, accept } = setUp();
    const made = await invite();
    const { name } = made.metadata;
    t.equal((await invitations.list(identity)).length, 1);
    for (const other of [CAROL, keystoneIdentity('manager', { home: 'globex', uid: 'uid-of-another' })]) {
      t.same(await invitations.list(other), []);
      t.match(await refusal(invitations.withdraw(other, name, REQUEST)), { code: 'NotFound' });
    }
    await invitations.withdraw(identity, name, REQUEST);
    t.same(stateOf(world), ['withdrawn']);
    await invitations.withdraw(identity, name, REQUEST);
    t.match(await refusal(accept(BOB, secretOf(made))), { code: 'NotFound' });
    const used = await invite();
    await accept(BOB, secretOf(used));
    const late = invitations.withdraw(identity, used.metadata.name, REQUEST);
    t.match(await refusal(late), { code: 'Conflict', message: /accepted by acme:bob/ });
  }
});

t.test('a user may create twenty invitations an hour', async (t) => {
  const { world, invite } = setUp();
  for (let made = 1; made <= 20; made += 1) await invite();
  const { details, ...found } = { details: {}, ...(await refusal(invite())) };
  t.match(found, { code: 'InvitationRateExceeded' });
  t.same(details, { retryAfterSeconds: 180 });
  t.match(await invite(EDIT, CAROL), { status: { state: 'open' } }, 'another user is not affected');
  world.clock.advance(180_000);
  t.match(await invite(), { status: { state: 'open' } });
});

t.test('an invitation made with an access token expires with the token', async (t) => {
  const { world, invitations } = setUp();
  const expiresAt = world.clock.now() + 3_600_000;
  const accessToken = tokenScope('session');
  const made = await invitations.invite({ ...ALICE, accessToken, expiresAt }, EDIT, REQUEST);
  t.equal(Date.parse(made.status.expirationTimestamp), expiresAt);
});

t.test('an invitation ends when its inviter, who is known from a sign-in, counts no more', async (t) => {
  const { world, invite } = setUp();
  const day = 24 * 3_600_000;
  const signedInAt = world.clock.now() - 29 * day;
  const made = await invite(EDIT, claimIdentity('carol', 'acme', { signedInAt }));
  t.equal(Date.parse(made.status.expirationTimestamp), signedInAt + 30 * day);
});

t.test('an access token sees and withdraws only invitations to what its scopes cover', async (t) => {
  const { invite, invitations } = setUp();
  const { metadata } = await invite();
  const asToken = (scopes: string) => ({ ...ALICE, accessToken: tokenScope(scopes) });
  t.same(await invitations.list(asToken('namespace/lab/manage +rbac')), []);
  const withdrawn = invitations.withdraw(asToken('namespace/lab/manage +rbac'), metadata.name, REQUEST);
  t.match(await refusal(withdrawn), { code: 'NotFound' });
  t.match(await invitations.list(asToken('session')), [{ metadata: { name: metadata.name } }]);
  await invitations.withdraw(asToken('session'), metadata.name, REQUEST);
  t.match(await invitations.list(ALICE), [{ status: { state: 'withdrawn' } }]);
});

t.test('the holder of a link learns what it gives while it is open, without being a user', async (t) => {
  const { world, invitations, invite, accept } = setUp();
  const open = secretOf(await invite());
  t.match(invitations.offered(open), { ...EDIT, accepted: false });
  const addressed = secretOf(await invite({ ...EDIT, email: 'bob@example.com' }));
  t.equal(invitations.offered(addressed), undefined, 'only who has the address learns it, signed in');
  for (const wrong of [open.slice(0, -1), `${open.slice(0, 20)}x${open.slice(21)}`, '', 'sgi_'])
    t.equal(invitations.offered(wrong), undefined, wrong);
  const used = secretOf(await invite());
  await accept(BOB, used);
  t.equal(invitations.offered(used), undefined);
  world.clock.advance(WEEK);
  t.equal(invitations.offered(open), undefined);
});

t.test('an invitation of a deleted tenant is none of the tenant that has its name now', async (t) => {
  const { world, invitations, invite, accept } = setUp();
  const made = await invite();
  const secret = secretOf(made);
  world.tenants.put({ name: 'acme', uid: 'second', createdAt: world.clock.now(), revision: 1 });
  t.same(await invitations.list(ALICE), []);
  t.equal(invitations.offered(secret), undefined);
  t.match(await refusal(accept(BOB, secret)), { code: 'NotFound' });
  t.match(await refusal(invitations.withdraw(ALICE, made.metadata.name, REQUEST)), { code: 'NotFound' });
  t.same(world.gifts, []);
});
