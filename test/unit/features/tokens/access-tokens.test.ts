/** How much one user's access tokens may take up at the API server and in every process. */
import t from 'tap';
import { parse } from 'yaml';
import type { ErrorCode } from '../../../../src/errors/codes.ts';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { WITHOUT_TENANT_UIDS } from '../../../../src/features/tenant-uids.ts';
import { accessTokenSpecSchema } from '../../../../src/features/tokens/access-token-v1alpha1.ts';
import { AccessTokens } from '../../../../src/features/tokens/access-tokens.ts';
import { readToken, TokenStore } from '../../../../src/features/tokens/token-store.ts';
import { tokensSchema } from '../../../../src/features/tokens/tokens-configuration.ts';
import { createOwners } from '../../../../src/identity/owners.ts';
import { timestamp } from '../../../../src/lib/go-time.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { TENANCY_FACTS } from '../../../../src/tenancy/facts.ts';
import type { Identity } from '../../../../src/tenancy/identity.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { createMemoryObjects } from '../../../support/memory-objects.ts';
import { rule } from '../../../support/policy-rule.ts';
import { tokenScope } from '../../../support/token-scope.ts';

const SIGNAL = new AbortController().signal;
const { lifetimes } = tokensSchema.parse({});
const alice: Identity = {
  ...parse(`
    authenticator: jwt
    subject: {kind: claim, name: 'oidc:alice'}
    tenantOrigin: {from: issuer, tenant: acme}
    uid: ''
    groups: []
    extra: {}
    auditAnnotations: {}`),
  expiresAt: Number.POSITIVE_INFINITY,
};

function setUp() {
  const clock = createFakeClock();
  const memory = createMemoryObjects();
  const server: { failsWith: ErrorCode | undefined } = { failsWith: undefined };
  const store = new TokenStore({ clock, onEnded: () => {}, tenants: WITHOUT_TENANT_UIDS });
  const owners = createOwners({
    isConfigured: () => true,
    usersOf: () => undefined,
    facts: TENANCY_FACTS.arktos,
    signInMaxAge: 1,
    clock,
  });
  const user = { username: 'oidc:alice', uid: '', groups: [], extra: {} };
  const tokens = new AccessTokens({
    ...{ lifetimes, clock, store, owners, random: systemRandom, place: { namespace: 'stonegate' } },
    tenants: WITHOUT_TENANT_UIDS,
    mode: { tenantOf: () => toTenantName('acme'), userOf: () => user },
    objectsOf: () => ({
      ...memory,
      async create(kind, place, object, signal) {
        if (server.failsWith !== undefined) throw new StatusError(server.failsWith, 'not stored');
        const metadata = { ...object.metadata, creationTimestamp: timestamp(clock.now()) };
        return memory.create(kind, place, { ...object, metadata }, signal);
      },
    }),
  });
  const follow = () => {
    const list = store.beginList();
    list.take(memory.all().map(({ object }) => readToken({ value: object, text: () => '' })));
    list.end();
  };
  const create = () => tokens.create(alice, { scopes: ['read'], expirationSeconds: 60 }, SIGNAL);
  return { clock, memory, server, tokens, follow, create };
}

t.test(
  'a user may create and revoke tokens without end: only the last two hundred stay stored',
  async (t) => {
    const { clock, memory, tokens, follow, create } = setUp();
    const names: string[] = [];
    for (let made = 0; made < 210; made += 1) {
      const { metadata } = await create();
      names.push(metadata.name);
      follow();
      await tokens.revoke(alice, metadata.name, SIGNAL);
      follow();
      clock.advance(1_000);
    }
    const listed = tokens.list(alice).map(({ metadata }) => metadata.name);
    t.strictSame(listed, names.slice(-201).reverse());
    t.equal(memory.all().length, 201);
  },
);

t.test('of 300 creations at the same time 100 make a token', async (t) => {
  const { memory, follow, create } = setUp();
  await create();
  follow();
  const made = await Promise.allSettled(Array.from({ length: 300 }, create));
  t.equal(made.filter(({ status }) => status === 'fulfilled').length, 99);
  t.match(made.at(-1), { status: 'rejected', reason: { message: /you have 100 access tokens/ } });
  t.equal(memory.all().length, 100);
});

t.test('a rotation that always loses against others is a conflict, and no fault of Stonegate', async (t) => {
  const { memory, tokens, follow, create } = setUp();
  const { metadata } = await create();
  follow();
  memory.before = (verb) => {
    if (verb === 'update')
      for (const { kind, place, object } of memory.all()) memory.put(kind, place, object);
  };
  await t.rejects(tokens.rotate(alice, metadata.name, 0, SIGNAL), { code: 'Conflict' });
});

t.test('the token of a user with a certificate ends with the certificate at the latest', async (t) => {
  const { clock, tokens } = setUp();
  const bob = { ...alice, authenticator: 'x509', expiresAt: clock.now() + 30_000 };
  const { status } = await tokens.create(bob, { scopes: ['read'], expirationSeconds: 60 }, SIGNAL);
  t.equal(status.expirationTimestamp, timestamp(bob.expiresAt));
});

/** A creation after a hundred that have failed. */
async function createdAfter(failure: ErrorCode) {
  const { server, create } = setUp();
  server.failsWith = failure;
  await Promise.allSettled(Array.from({ length: 100 }, create));
  server.failsWith = undefined;
  return create();
}

t.test('a token that the API server refuses to store does not count against the limit', async (t) => {
  t.match(await createdAfter('ProvisioningRefused'), { status: { state: 'active' } });
});

t.test('a token counts against the limit until it is known whether the API server stored it', async (t) => {
  await t.rejects(createdAfter('UpstreamTimeout'), { code: 'ObjectInvalid' });
});

t.test('the rules of a token are bounded in size', async (t) => {
  const pods = { ...rule('get', 'pods'), namespaces: ['web'] };
  const isTaken = (...rules: (typeof pods)[]) => accessTokenSpecSchema.safeParse({ rules }).success;
  t.ok(isTaken(...Array.from({ length: 32 }, () => pods)));
  t.notOk(isTaken({ ...pods, resources: Array.from({ length: 20 }, () => 'x'.repeat(253)) }));
});

t.test('a token with +tokens sees, rotates and revokes only tokens of its own scopes', async (t) => {
  const { clock, tokens, follow } = setUp();
  const make = async (...scopes: string[]) => {
    const { metadata } = await tokens.create(alice, { scopes, expirationSeconds: 60 }, SIGNAL);
    follow();
    return metadata.name;
  };
  const ci = await make('namespace/web/edit', '+tokens');
  const narrower = await make('namespace/web/edit');
  const wider = await make('namespace/web/edit', 'namespace/lab/read');
  const accessToken = tokenScope('namespace/web/edit +tokens');
  const asToken = { ...alice, accessToken, expiresAt: clock.now() + 60_000 };
  const listed = tokens.list(asToken).map(({ metadata }) => metadata.name);
  t.strictSame(listed.sort(), [ci, narrower].sort());
  t.match(await tokens.rotate(asToken, ci, 0, SIGNAL), { status: { token: /^sgt_/ } });
  for (const refused of [tokens.rotate(asToken, wider, 0, SIGNAL), tokens.revoke(asToken, wider, SIGNAL)])
    await t.rejects(refused, { code: 'AccessDenied', message: /only tokens of its own scopes/ });
  t.match(await tokens.revoke(asToken, narrower, SIGNAL), { status: { state: 'revoked' } });
  t.match(await tokens.revoke(alice, wider, SIGNAL), { status: { state: 'revoked' } });
});
