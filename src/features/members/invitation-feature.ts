/**
 * Invitations to namespaces and teams. The invitations of the cluster are known in every process, and outlive
 * reloads.
 */
import { ComponentType, RUNS } from '../../config/component.ts';
import { Informers } from '../../kubernetes/informers.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import { createRateLimiter, type RateLimiter } from '../../limits/rate-limiter.ts';
import type { Feature } from '../../proxy/feature.ts';
import { kubernetesIdentity } from '../../proxy/identity-source.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { FeatureBuild, ProxyParts } from '../build.ts';
import { connectInformers } from '../connect-informers.ts';
import { OwnerUpkeep } from '../owner-upkeep.ts';
import { operatorPlace } from '../tenancy-mode.ts';
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
import { createInvitations, type Invitations, MOST_PER_HOUR } from './invitations.ts';
import type { TeamFeature } from './team-feature.ts';

interface KnownInvitations {
  readonly store: InvitationStore;
  readonly informers: Informers;
  readonly rate: RateLimiter;
}

const KNOWN_INVITATIONS = new ComponentType<KnownInvitations>('invitations', {
  start: ({ informers }) => informers.start(),
  stop: ({ informers }) => informers.stop(),
});
const UPKEEP = new ComponentType<OwnerUpkeep<Invitation>>('upkeep of invitations', RUNS);

export interface InvitationFeature extends Feature {
  /** The portal calls it. It is undefined without the section `members`. */
  readonly source?: Invitations;
}

const WITHOUT: InvitationFeature = {
  ownResources: [OWN_INVITATIONS, OWN_ACCEPTANCES].map((resource) => ({
    ...resource,
    unavailable: "are off: Stonegate's operator turns them on with the section members",
  })),
};

/** @param access undefined if the configuration has no RBAC index */
export function createInvitationFeature(
  build: FeatureBuild,
  { mode, ownBodies, asIdentity, owners }: ProxyParts,
  access: AccessIndex | undefined,
  teams: TeamFeature['source'],
): InvitationFeature {
  const { generation, loaded, runtime, provisioningUpstream: upstream } = build;
  const { members, tenancy, portal, upstream: connection } = loaded.configuration;
  if (members === undefined || upstream === undefined || access === undefined || teams === undefined)
    return WITHOUT;
  const { clock, logger } = runtime;
  const place = operatorPlace(members, tenancy);
  const objects = createObjects(upstream);
  const known = generation.component(KNOWN_INVITATIONS, {
    fingerprint: [connection.server, place],
    create() {
      const store = createInvitationStore((tenant) =>
        logger.warn({ tenant }, 'the tenant has too many invitations: they are not listed'),
      );
      const informers = new Informers({ ...runtime, upstream, name: 'invitations' });
      const path = collectionPath(STORED_INVITATIONS, place);
      const { filled, onUpdate } = store;
      informers.add({ path, read: storableInvitation, store: filled, onUpdate });
      const rate = createRateLimiter({ perSecond: MOST_PER_HOUR / 3_600, burst: MOST_PER_HOUR, clock });
      return { store, informers, rate };
    },
  });
  connectInformers(generation, known, upstream);
  const { store, rate } = known;
  const endedAt = (invitation: Invitation, now: number) => endOf(invitation, now)?.at;
  const upkeep = new OwnerUpkeep({
    ...runtime,
    ...{ kind: STORED_INVITATIONS, store, endedAt, objects, place, owners },
    identityOf: ({ identity }) => identity,
  });
  if (!build.explains) generation.component(UPKEEP, { uses: [known, upstream], create: () => upkeep });
  const invitations = createInvitations({
    ...runtime,
    ...{ store, place, owners, rate },
    objectsOf: (tenant) => createObjects(upstream, { kind: 'tenant', tenant }),
    describe: (identity: Identity) => kubernetesIdentity(identity, mode),
    targets: createInvitationTargets({ mode, requests: asIdentity, access, teams }),
    linkTo: (secret) => (portal === undefined ? secret : `${portal.publicURL}/invitation/${secret}`),
  });
  return {
    authorizers: [
      {
        name: 'sign-in-of-inviters',
        authorize({ identity }) {
          if (identity.accessToken === undefined) upkeep.signedIn(identity);
          return undefined;
        },
      },
    ],
    ownResources: invitationResources(invitations, ownBodies),
    source: invitations,
  };
}
