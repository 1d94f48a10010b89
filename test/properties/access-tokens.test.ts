/**
 * No sequence of creation, rotation, revocation, expiry, loss of the owner and reload lets an access token do
 * more than its owner may do and its scopes allow, on any replica. This includes tokens that were created
 * with other tokens. A valid token works.
 */
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { createTokenWorld, HOUR, OWNERS, type TokenWorld } from '../support/token-world.ts';

const SCOPES = ['read', 'namespace/web/edit', 'session', '+secrets'];
const at = fc.nat({ max: 1 });
const by = fc.integer({ min: -2, max: 20 });
const owner = fc.constantFrom(...OWNERS);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('create'),
      at,
      owner,
      by,
      scopes: fc.subarray(SCOPES, { minLength: 1 }).map((some) => [...some, '+tokens']),
      hours: fc.constantFrom(1, 3, 24),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('rotate'),
      at,
      owner,
      by,
      of: fc.nat(20),
      overlap: fc.constantFrom(0, 600),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('revoke'), at, owner, by, of: fc.nat(20) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('deliver'), at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('settle') }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('elapse'), minutes: fc.constantFrom(1, 10, 70, 240) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('owner'),
      what: fc.constantFrom(
        ...['disable', 'enable', 'enable', 'delete', 'rename', 'remap', 'unmap', 'unmap'],
        'recreate',
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('carol'),
      what: fc.constantFrom('promote', 'demote', 'promote', 'demote', 'issuer-removed', 'issuer-added'),
      at,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('longest'), to: fc.constantFrom('2h', '24h') }) },
);
/** A token of each owner, and a token that was created with it. */
const BEGINNING: readonly Step[] = [
  ...OWNERS.flatMap((who, by): Step[] => [
    {
      do: 'create',
      at: 0,
      owner: who,
      by: -1,
      scopes: ['read', 'session', '+tokens'],
      hours: by === 0 ? 3 : 24,
    },
    { do: 'deliver', at: 0 },
    { do: 'create', at: 0, owner: who, by: 2 * by, scopes: ['read', '+tokens'], hours: 24 },
    { do: 'deliver', at: 0 },
    { do: 'deliver', at: 1 },
  ]),
  // A token requests a secret for another token that lives longer.
  { do: 'create', at: 0, owner: 'alice', by: -1, scopes: ['read', '+tokens'], hours: 24 },
  { do: 'deliver', at: 0 },
  { do: 'rotate', at: 0, owner: 'alice', by: 0, of: 4, overlap: 600 },
];

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function take(world: TokenWorld, one: Step): Promise<void> {
  const { alice, carol, clock } = world;
  switch (one.do) {
    case 'create':
    case 'rotate':
    case 'revoke':
      return refusable(() => change(world, one));
    case 'deliver':
      return world.replica(one.at).deliver();
    case 'settle':
      return world.settle();
    case 'elapse':
      return clock.advance(one.minutes * 60_000);
    case 'longest':
      return world.setLongest(one.to);
    case 'owner':
      if (one.what === 'remap' || one.what === 'unmap')
        return world.setDomains(one.what === 'remap' ? { acme: 'umbrella' } : {});
      if (one.what === 'disable' || one.what === 'enable') alice.isEnabled = one.what === 'enable';
      if (one.what === 'delete') alice.isDeleted = true;
      if (one.what === 'rename') alice.name = alice.name === 'alice' ? 'alicia' : 'alice';
      if (one.what === 'recreate')
        Object.assign(alice, { id: `${alice.id}+`, name: 'alice', isDeleted: false, isEnabled: true });
      return;
    case 'carol':
      if (one.what === 'issuer-removed') carol.issuers.clear();
      else if (one.what === 'issuer-added') carol.issuers.add('https://issuer');
      else if (world.canSignIn('carol')) {
        carol.groups = one.what === 'promote' ? ['dev', 'ops'] : ['dev'];
        world.signIn('carol', one.at);
      }
  }
}

async function change(world: TokenWorld, one: Extract<Step, { by: number }>): Promise<void> {
  const { made, secrets, clock } = world;
  const identity = await world.requester(one.at, one.owner, one.by);
  if (identity === undefined) return;
  const { tokens } = world.replica(one.at).parts;
  const { signal } = new AbortController();
  if (one.do === 'create') {
    const spec = { scopes: one.scopes, expirationSeconds: one.hours * 3_600 };
    const { metadata, status } = await tokens.create(identity, spec, signal);
    world.note(identity, metadata.name, one.scopes, spec.expirationSeconds);
    const token = made.get(metadata.name);
    if (status.token === undefined || token === undefined) throw new Error('the response has no secret');
    const { owner, expiresAt: endsAt } = token;
    secrets.push({ text: status.token, owner, token: metadata.name, endsAt, until: Infinity });
    return;
  }
  const name = secrets[one.of % Math.max(1, secrets.length)]?.token ?? '';
  const token = made.get(name);
  if (token === undefined) return;
  if (one.do === 'revoke') {
    await tokens.revoke(identity, name, signal);
    token.isRevoked = true;
    return;
  }
  const { status } = await tokens.rotate(identity, name, one.overlap, signal);
  for (const secret of secrets)
    if (secret.token === name) secret.until = Math.min(secret.until, clock.now() + one.overlap * 1_000);
  const endsAt = (identity.accessToken && made.get(identity.accessToken.id))?.expiresAt ?? Infinity;
  secrets.push({ text: status.token ?? '', owner: token.owner, token: name, endsAt, until: Infinity });
}

async function refusable(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
  }
}

/** Checks the secrets that a replica accepts. @returns the first that allows too much */
async function firstExcess(world: TokenWorld): Promise<string | undefined> {
  for (const secret of world.secrets)
    for (const replica of [0, 1]) {
      if (!world.replica(replica).knows(secret.token)) continue;
      const identity = await world.authenticate(replica, secret.text);
      const excess = identity && world.excess(replica, secret, identity);
      if (excess !== undefined) return `${secret.token} at replica ${replica}: ${excess}`;
    }
  return undefined;
}

t.test('no sequence of events lets a token do more than its owner may do and its scopes allow', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), async (steps) => {
      const world = createTokenWorld();
      for (const one of [...BEGINNING, ...steps]) {
        await take(world, one);
        const excess = await firstExcess(world);
        if (excess !== undefined) throw new Error(`after ${JSON.stringify(one)}: ${excess}`);
      }
      await everythingInOrder(world);
    }),
    { numRuns: 300 },
  );
});

/** Once all owners are back, each token works that has not ended and belongs to the same user as before. */
async function everythingInOrder(world: TokenWorld): Promise<void> {
  const { alice, carol, clock } = world;
  Object.assign(alice, { isEnabled: true, isDeleted: false });
  carol.issuers.add('https://issuer');
  world.setDomains({});
  world.setLongest('24h');
  world.signIn('carol', 0);
  await world.settle();
  for (const { text, token: id, until } of world.secrets) {
    const token = world.made.get(id);
    if (token === undefined) continue;
    const lives = !token.isRevoked && clock.now() < Math.min(token.expiresAt, until) - 1_000;
    const isTheirs = token.owner === 'carol' || (token.uid === alice.id && token.tenant === 'acme');
    if (!lives || !isTheirs) continue;
    for (const replica of [0, 1])
      if ((await world.authenticate(replica, text)) === undefined)
        throw new Error(`${id} does not work at replica ${replica}, ${clock.now() / HOUR}`);
  }
}
