/**
 * Invitations to namespaces and to teams. Every process knows all invitations, and keeps them over a reload.
 */
import { ComponentType, RUNS } from '../../config/component.ts';
import { Informers } from '../../kubernetes/informers.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import { createRateLimiter, type RateLimiter } from '../../limits/rate-limiter.ts';
import { type Feature, withoutSection } from '../../proxy/feature.ts';
import { kubernetesIdentity } from '../../proxy/identity-source.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import type { FeatureBuild, ProxyParts } from '../build.ts';
import { createComponentWithInformers, INFORMS } from '../component-with-informers.ts';
import { deleteFormerObjects } from '../former-objects.ts';
import type { MembersService } from '../members/feature.ts';
import { OwnerUpkeep } from '../owner-upkeep.ts';
import type { Teams } from '../teams/feature.ts';
import { operatorPlace } from '../tenancy-mode.ts';
import { createTenantUIDs } from '../tenant-uids.ts';
import { invitationResources } from './handle-invitations.ts';
import {
  createInvitationStore,
  endOf,
  type Invitation,
  type InvitationStore,
  storableInvitation,
} from './invitation-store.ts';
import { createInvitationTargets } from './invitation-targets.ts';
import { OWN_ACCEPTANCES, OWN_INVITATIONS, STORED_INVITATIONS } from './invitation-v1alpha1.ts';
import { Invitations, MOST_PER_HOUR } from './invitations.ts';

export type { Invitations };

export interface InvitationsFeature extends Feature {
  /** For the portal; undefined without the section `members`. */
  readonly service?: Invitations;
}

interface KnownInvitations {
  readonly store: InvitationStore;
  readonly informers: Informers;
  readonly rate: RateLimiter;
}

const KNOWN_INVITATIONS = new ComponentType<KnownInvitations>('invitations', INFORMS);
const UPKEEP = new ComponentType<OwnerUpkeep<Invitation>>('upkeep of invitations', RUNS);

/**
 * @param access undefined if the configuration has no RBAC index
 * @param members undefined without the section `members`, as are teams
 */
export function createInvitations(
  build: FeatureBuild,
  { mode, asIdentity: requests, owners, ownBodies }: ProxyParts,
  access: AccessIndex | undefined,
  members: MembersService | undefined,
  teams: Teams | undefined,
): InvitationsFeature {
  const { generation, loaded, runtime, explains, provisioningUpstream: upstream } = build;
  const { members: section, tenancy, portal } = loaded.configuration;
  const isOff = section === undefined || upstream === undefined || access === undefined;
  if (isOff || members === undefined || teams === undefined)
    return withoutSection('members', [OWN_INVITATIONS, OWN_ACCEPTANCES]);
  const place = operatorPlace(section, tenancy);
  const known = knownInvitations(build, upstream, collectionPath(STORED_INVITATIONS, place));
  const { store, rate } = known;
  const tenants = createTenantUIDs(build);
  const objects = createObjects(upstream, STONEGATE_ACCOUNT);
  const endedAt = (invitation: Invitation, now: number) => endOf(invitation, now)?.at;
  const upkeep = new OwnerUpkeep({
    ...runtime,
    ...{ kind: STORED_INVITATIONS, store, endedAt, place, owners, objects },
    identityOf: ({ identity }) => identity,
  });
  if (!explains) generation.component(UPKEEP, { uses: [known, upstream], create: () => upkeep });
  deleteFormerObjects(build, [known, upstream], {
    ...{ kind: STORED_INVITATIONS, place, tenants, objects },
    values: store.values,
  });
  const service = new Invitations({
    ...runtime,
    ...{ place, owners, rate, tenants, store },
    objectsOf: (tenant) => createObjects(upstream, { kind: 'tenant', tenant }),
    describe: (identity) => kubernetesIdentity(identity, mode),
    targets: createInvitationTargets({ mode, requests, access, members, teams }),
    linkTo: (secret) => (portal === undefined ? secret : `${portal.publicURL}/invitation/${secret}`),
  });
  return {
    service,
    authorizers: [
      {
        name: 'sign-in-of-inviters',
        authorize({ identity, tenant }) {
          if (identity.accessToken === undefined) upkeep.signedIn(identity, tenant);
          return undefined;
        },
      },
    ],
    ownResources: invitationResources(service, ownBodies),
  };
}

function knownInvitations(build: FeatureBuild, upstream: Upstream, path: string): KnownInvitations {
  const { runtime } = build;
  return createComponentWithInformers(build, KNOWN_INVITATIONS, upstream, {
    fingerprint: [path],
    create() {
      const { clock, logger } = runtime;
      const store = createInvitationStore((tenant) =>
        logger.warn({ tenant }, 'the tenant has too many invitations: they are not listed'),
      );
      const informers = new Informers({ ...runtime, upstream, name: 'invitations' });
      const { filled, onUpdate } = store;
      informers.add({ path, read: storableInvitation, store: filled, onUpdate });
      const rate = createRateLimiter({ perSecond: MOST_PER_HOUR / 3_600, burst: MOST_PER_HOUR, clock });
      return { store, informers, rate };
    },
  });
}
