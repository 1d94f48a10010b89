/** Invitations on several replicas with one API server in memory, which grants what an inviter may grant. */

import { StatusError } from '../../src/errors/status-error.ts';
import { readInvitation } from '../../src/features/invitations/invitation-store.ts';
import type { Target } from '../../src/features/invitations/invitation-v1alpha1.ts';
import { Invitations } from '../../src/features/invitations/invitations.ts';
import { TenantStore } from '../../src/features/tenant-uids.ts';
import { createOwners } from '../../src/identity/owners.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createRateLimiter } from '../../src/limits/rate-limiter.ts';
import { TENANCY_FACTS } from '../../src/tenancy/facts.ts';
import type { Identity } from '../../src/tenancy/identity.ts';
import { toTenantName } from '../../src/tenancy/tenant-name.ts';
import { createFakeClock } from './fake-clock.ts';
import { createMemoryObjects } from './memory-objects.ts';

export const REQUEST = {
  origin: { auditID: 'audit-id', clientAddress: '192.0.2.1' },
  signal: new AbortController().signal,
};
const PLACE = { namespace: 'stonegate' };

/** What was granted, and by which inviter. */
export interface Gift {
  readonly inviter: string;
  readonly target: Target;
  readonly username: string;
}

export type InvitationWorld = ReturnType<typeof createInvitationWorld>;

/** @param turn awaited before each request to the API server */
export function createInvitationWorld(turn: () => Promise<unknown> = async () => {}) {
  const clock = createFakeClock(Date.parse('2027-03-01T12:00:00Z'));
  const objects = createMemoryObjects();
  const tenants = new TenantStore();
  const gifts: Gift[] = [];
  const disabled = new Set<string>();
  /** Users who lost the right to grant. */
  const powerless = new Set<string>();
  const world = {
    ...{ clock, objects, tenants, gifts, disabled, powerless },
    /** Set if the API server does not respond, either before or after it has granted the right. */
    outage: undefined as 'before' | 'after' | undefined,
    /** Whether the tenant has reached its limit of requests. */
    busy: false,
    stored: () =>
      objects.all().flatMap(({ object }) => {
        const invitation = readInvitation(object);
        return invitation === undefined ? [] : [invitation];
      }),
    describe,
    addReplica,
  };

  function describe({ tenantOrigin, subject }: Identity) {
    const tenant = tenantOrigin.from === 'domain' ? tenantOrigin.domain.name : 'acme';
    const name = subject.kind === 'keystone' ? subject.userName : 'carol';
    return {
      tenant: toTenantName(tenant),
      user: { username: `${tenant}:${name}`, uid: '', groups: [], extra: {} },
    };
  }

  const owners = createOwners({
    keystone: {
      async enabledUser(id) {
        const name = id.replace(/^uid-of-/, '');
        return disabled.has(name) ? undefined : { id, name, domain: { id: 'id-of-acme', name: 'acme' } };
      },
    },
    isConfigured: () => true,
    usersOf: () => undefined,
    facts: TENANCY_FACTS.arktos,
    signInMaxAge: 30 * 24 * 3_600_000,
    clock,
  });

  function addReplica(): Invitations {
    return new Invitations({
      ...{ clock, owners, describe, random: systemRandom, place: PLACE },
      store: {
        get: (id) => world.stored().find((one) => one.id === id),
        ofTenant: (tenant) => world.stored().filter((one) => one.tenant === tenant),
      },
      tenants,
      objectsOf: () => ({
        get: (...args) => turn().then(() => objects.get(...args)),
        create: (...args) => turn().then(() => objects.create(...args)),
        update: (...args) => turn().then(() => objects.update(...args)),
      }),
      rate: createRateLimiter({ perSecond: 20 / 3_600, burst: 20, clock }),
      linkTo: (secret) => `https://portal.example.com/invitation/${secret}`,
      targets: {
        async give(identity, target, username, { dryRun }) {
          await turn();
          const inviter = describe(identity).user.username;
          if (!dryRun && world.outage === 'before') throw new StatusError('UpstreamUnavailable', 'down');
          if (world.busy) throw new StatusError('TenantRateExceeded', 'too many requests');
          if (powerless.has(inviter)) throw new StatusError('AccessDenied', 'not allowed to give that');
          if (dryRun) return;
          gifts.push({ inviter, target, username });
          if (world.outage === 'after') throw new StatusError('UpstreamTimeout', 'late');
        },
        isInScope: ({ accessToken }) => accessToken?.has('session') ?? true,
        givenBy: async (identity) => () => describe(identity).user.username === 'acme:manager',
      },
    });
  }

  return world;
}

/** The secret at the end of the link. */
export function secretOf({ status: { link = '' } }: Awaited<ReturnType<Invitations['invite']>>) {
  return link.slice(link.lastIndexOf('/') + 1);
}
