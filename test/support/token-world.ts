/**
 * Access tokens in memory: an API server, replicas that receive its objects when they are delivered, a
 * Keystone and an issuer with changing users, and a model of what each secret may do.
 */

import { StatusError } from '../../src/errors/status-error.ts';
import { TenantStore } from '../../src/features/tenant-uids.ts';
import { AccessTokens } from '../../src/features/tokens/access-tokens.ts';
import { createTokenScope } from '../../src/features/tokens/scope.ts';
import { createTokenAuthenticator } from '../../src/features/tokens/token-authenticator.ts';
import { readToken, TokenStore } from '../../src/features/tokens/token-store.ts';
import { createTokenUpkeep } from '../../src/features/tokens/token-upkeep.ts';
import { tokensSchema } from '../../src/features/tokens/tokens-configuration.ts';
import { createOwners } from '../../src/identity/owners.ts';
import type { Question } from '../../src/kubernetes/authorizer-attributes.ts';
import { timestamp } from '../../src/lib/go-time.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createTenantNamespaces } from '../../src/rbac/tenant-namespaces.ts';
import { createArktosMode } from '../../src/tenancy/arktos.ts';
import { TENANCY_FACTS } from '../../src/tenancy/facts.ts';
import type { Identity } from '../../src/tenancy/identity.ts';
import type { UserReference } from '../../src/tenancy/keystone-v3.ts';
import { createFakeClock } from './fake-clock.ts';
import { claimIdentity, groupsOf, keystoneIdentity } from './identities.ts';
import { createMemoryObjects, type MemoryObjects } from './memory-objects.ts';

export const HOUR = 3_600_000;
const SIGN_IN_MAX_AGE = 5 * HOUR;
/** Milliseconds that a token may outlive the maximum, since the API server has another clock. */
const CLOCK_DIFFERENCE = 60_000;
const PLACE = { namespace: 'stonegate' };
export const OWNERS = ['alice', 'carol'] as const;
export type Owner = (typeof OWNERS)[number];

/** What a secret may do, derived from the requests of its creators. */
interface Secret {
  readonly text: string;
  readonly owner: Owner;
  readonly token: string;
  /** The end of the token with which it was created. */
  readonly endsAt: number;
  /** The end that a rotation has set. */
  until: number;
}

interface Made {
  readonly owner: Owner;
  readonly tenant: string;
  readonly uid: string;
  /** Its scopes, and those of the tokens with which it was created. */
  readonly scopes: readonly (readonly string[])[];
  readonly createdAt: number;
  readonly expiresAt: number;
  isRevoked: boolean;
}

export type TokenWorld = ReturnType<typeof createTokenWorld>;

export function createTokenWorld() {
  const clock = createFakeClock(Date.UTC(2026, 0, 1));
  const tenants = new TenantStore();
  const stored = createMemoryObjects();
  const objects: MemoryObjects = {
    ...stored,
    create: (kind, place, object, signal) =>
      stored.create(
        kind,
        place,
        { ...object, metadata: { ...object.metadata, creationTimestamp: timestamp(clock.now()) } },
        signal,
      ),
  };
  /** The users in Keystone. */
  const alice = { id: 'a1', name: 'alice', isEnabled: true, isDeleted: false };
  const carol = { groups: ['dev'], signedInAt: clock.now(), issuers: new Set(['https://issuer']) };
  /** The groups that may still apply: those of the last sign-in and, until it is delivered, older ones. */
  let groups: string[][] = [['dev']];
  let domains: Record<string, string> = {};
  let longest = '24h';
  const made = new Map<string, Made>();
  const secrets: Secret[] = [];

  const domain = { id: 'id-of-acme', name: 'acme' };
  const keystone = {
    references: new Map<string, UserReference>(),
    async enabledUser(id: string): Promise<UserReference | undefined> {
      if (id !== alice.id || !alice.isEnabled || alice.isDeleted) return undefined;
      const key = `${id} ${alice.name}`;
      const reference = keystone.references.get(key) ?? { id, name: alice.name, domain };
      keystone.references.set(key, reference);
      return reference;
    },
  };

  function createReplica() {
    /** When the last news from the API server arrived. */
    const news = { failingSince: undefined, provenAt: Number.POSITIVE_INFINITY };
    const store = new TokenStore({ clock, onEnded: () => {}, tenants });
    const upkeep = () =>
      createTokenUpkeep({ store, objects, place: PLACE, owners: owners(), clock, logger: silentLogger });
    const owners = () =>
      createOwners({
        keystone,
        isConfigured: (source) => source === 'keystone' || carol.issuers.has(source),
        usersOf: () => undefined,
        facts: TENANCY_FACTS.arktos,
        signInMaxAge: SIGN_IN_MAX_AGE,
        clock,
      });
    const parts = () => {
      const lives = Object.fromEntries(
        ['read', 'edit', 'session', 'escalating', 'rules', 'manage', 'control', 'userinfo'].map((kind) => [
          kind,
          longest,
        ]),
      );
      const { lifetimes } = tokensSchema.parse({ lifetimes: lives });
      const mode = createArktosMode({ systemTenant: 'system', domains, showsOwnTenant: true });
      const checks = { store, lifetimes, clock, owners: owners() };
      return {
        authenticator: createTokenAuthenticator({
          ...checks,
          mode,
          namespacesOf: createTenantNamespaces(undefined),
          informer: news,
          used: (token) => used(token),
        }),
        tokens: new AccessTokens({
          ...{ ...checks, place: PLACE, mode, random: systemRandom, tenants },
          objectsOf: () => objects,
        }),
      };
    };
    const { upkeep: running, used } = upkeep();
    running.start();
    return {
      news,
      parts: parts(),
      upkeep: running,
      /** Tokens whose delivered objects were revoked. */
      revoked: new Set<string>(),
      /** The ends of secrets that were known at the last delivery. */
      untils: new Map<string, number>(),
      reload() {
        this.parts = parts();
      },
      deliver() {
        const list = store.beginList();
        const stored = objects.all().map(({ object }) => object);
        list.take(stored.map((value) => readToken({ value, text: () => '' })));
        list.end();
        for (const [id, { isRevoked }] of made) if (isRevoked) this.revoked.add(id);
        for (const { text, until } of secrets) this.untils.set(text, until);
      },
      knows: (id: string) => store.get(id) !== undefined,
    };
  }

  const replicas = [createReplica(), createReplica()];
  const replica = (at: number) => replicas[at % replicas.length] ?? createReplica();

  /** Signs in at a replica, which has known the tokens of carol for a moment. */
  function signIn(owner: Owner, at: number): Identity {
    // Times are stored in seconds.
    clock.advance(1_000);
    if (owner === 'carol') replica(at).deliver();
    const identity = signedInNow(owner);
    // The tenant of an issuer's users is no domain's.
    const tenant = owner === 'carol' ? 'acme' : (domains.acme ?? 'acme');
    replica(at).upkeep.signedIn(identity, tenant);
    return identity;
  }

  function signedInNow(owner: Owner): Identity {
    if (owner === 'alice')
      return keystoneIdentity(alice.name, { uid: alice.id, expiresAt: clock.now() + HOUR });
    carol.signedInAt = clock.now();
    groups.push([...carol.groups]);
    return claimIdentity('oidc:carol', 'acme', {
      groups: [...carol.groups],
      auditAnnotations: { 'stonegate.dev/issuer': 'https://issuer' },
      expiresAt: clock.now() + HOUR,
    });
  }

  function canSignIn(owner: Owner) {
    return owner === 'alice' ? alice.isEnabled && !alice.isDeleted : carol.issuers.size > 0;
  }

  async function authenticate(at: number, text: string): Promise<Identity | undefined> {
    try {
      // A request that waits for an unknown token gives up.
      const found = replica(at).parts.authenticator.authenticate(
        { kind: 'bearer', token: text },
        { source: '127.0.0.1' },
      );
      if (found instanceof Promise) queueMicrotask(() => clock.advance(0));
      return await found;
    } catch (error) {
      if (error instanceof StatusError) return undefined;
      throw error;
    }
  }

  async function flush() {
    for (let round = 0; round < 2 + 2 * made.size; round += 1) {
      clock.advance(200);
      await afterMicrotasks();
    }
    for (const one of replicas) one.deliver();
  }

  return {
    clock,
    tenants,
    objects,
    alice,
    carol,
    made,
    secrets,
    replica,
    canSignIn,
    signIn,
    authenticate,
    /** What the requester is: the user, or one of their tokens. */
    async requester(at: number, owner: Owner, by: number): Promise<Identity | undefined> {
      const secret = by < 0 ? undefined : secrets[by % Math.max(1, secrets.length)];
      if (secret === undefined) {
        if (!canSignIn(owner)) return undefined;
        return signIn(owner, at);
      }
      if (!replica(at).knows(secret.token)) return undefined;
      const identity = await authenticate(at, secret.text);
      // The scope authorizer makes the same check.
      return identity?.accessToken?.allows(CREATE_TOKENS) ? identity : undefined;
    },
    note(identity: Identity, name: string, scopes: readonly string[], seconds: number) {
      const parent = identity.accessToken && made.get(identity.accessToken.id);
      const owner = identity.authenticator === 'keystone' ? 'alice' : 'carol';
      const end = clock.now() + seconds * 1_000;
      made.set(name, {
        owner,
        tenant: domains.acme ?? 'acme',
        uid: identity.uid,
        scopes: [scopes, ...(parent?.scopes ?? [])],
        createdAt: clock.now(),
        expiresAt: Math.min(end, parent?.expiresAt ?? end),
        isRevoked: false,
      });
    },
    /** Lets time pass, and runs the tasks that are due. */
    async pass(milliseconds: number) {
      clock.advance(milliseconds);
      await flush();
    },
    setDomains(changed: Record<string, string>) {
      domains = changed;
      for (const one of replicas) one.reload();
    },
    setLongest(changed: string) {
      longest = changed;
      for (const one of replicas) one.reload();
    },
    /**
     * Delivers what was written, and writes what became known. A token that was created with a token just as
     * carol signed in has her previous groups until her next sign-in, so she signs in once more.
     */
    async settle() {
      await flush();
      if (!canSignIn('carol')) return;
      signIn('carol', 0);
      await flush();
      groups = groups.slice(-1);
    },
    /** In what the identity exceeds the secret; undefined if it does not. */
    excess(at: number, { token: id, text, endsAt }: Secret, identity: Identity): string | undefined {
      const now = clock.now();
      const token = made.get(id);
      const scope = identity.accessToken;
      if (token === undefined || scope === undefined) return 'it has no scope';
      if (replica(at).revoked.has(id)) return 'it was revoked';
      if (now >= token.expiresAt) return 'its time is over';
      if (now >= endsAt) return 'its maker has ended';
      if (now >= (replica(at).untils.get(text) ?? Infinity)) return 'the secret was rotated';
      const life = token.expiresAt - token.createdAt;
      if (life > Number.parseInt(longest, 10) * HOUR + CLOCK_DIFFERENCE) return 'it lives too long';
      if ((domains.acme ?? 'acme') !== token.tenant && token.owner === 'alice') return 'of another tenant';
      if (identity.uid !== token.uid) return 'it is of another user';
      const asked = QUESTIONS.find(
        (question) =>
          scope.allows(question) &&
          !token.scopes.every((scopes) =>
            createTokenScope('', { scopes }, token.tenant).allows({ ...question, tenant: token.tenant }),
          ),
      );
      if (asked !== undefined) return `it may ${JSON.stringify(asked)}`;
      if (!canSignIn(token.owner)) return 'the owner is gone';
      if (token.owner === 'alice')
        return identity.subject.kind === 'keystone' && identity.subject.userName === alice.name
          ? undefined
          : 'the name is another one';
      if (now - carol.signedInAt > SIGN_IN_MAX_AGE) return 'the owner has not signed in';
      const known = groups.map((one) => JSON.stringify(one));
      return known.includes(JSON.stringify(groupsOf(identity))) ? undefined : 'the groups are older ones';
    },
  };
}

const base = { subresource: '', name: '', tenant: 'acme' };
const CREATE_TOKENS = {
  ...base,
  verb: 'create',
  apiGroup: 'stonegate.dev',
  resource: 'accesstokens',
  namespace: '',
};
const QUESTIONS = ['get', 'update', 'bind'].flatMap((verb) =>
  ['pods', 'secrets', 'accesstokens'].flatMap((resource) =>
    ['web', 'lab', ''].map((namespace) => ({
      ...base,
      verb,
      resource,
      namespace,
      apiGroup: resource === 'accesstokens' ? 'stonegate.dev' : '',
    })),
  ),
) satisfies Question[];

async function afterMicrotasks() {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}
