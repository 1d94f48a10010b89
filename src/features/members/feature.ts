/**
 * Members of namespaces, the search for users, teams, and invitations to both. Teams and invitations of the
 * cluster are known in every process, and outlive reloads.
 */
import { ComponentType, RUNS } from '../../config/component.ts';
import { Informers } from '../../kubernetes/informers.ts';
import type { Place } from '../../kubernetes/kubernetes-object.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import { createRateLimiter, type RateLimiter } from '../../limits/rate-limiter.ts';
import type { Feature } from '../../proxy/feature.ts';
import { kubernetesIdentity } from '../../proxy/identity-source.ts';
import type { OwnResource } from '../../proxy/own-api.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import type { FeatureBuild, ProxyParts } from '../build.ts';
import { createComponentWithInformers, INFORMS } from '../component-with-informers.ts';
import { deleteFormerObjects } from '../former-objects.ts';
import { OwnerUpkeep } from '../owner-upkeep.ts';
import { operatorPlace } from '../tenancy-mode.ts';
import { createTenantUIDs } from '../tenant-uids.ts';
import { createKeystoneNames } from '../who-can/feature.ts';
import { invitationResources } from './handle-invitations.ts';
import { createMembersHandler, createPeopleSearchHandler } from './handle-members.ts';
import { createTeamHandler } from './handle-teams.ts';
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
import { MEMBERS, PEOPLE_SEARCHES } from './member-v1alpha1.ts';
import { createMembersService, type MembersService } from './members-service.ts';
import { createMemberships } from './memberships.ts';
import { createPeopleSearch } from './search-people.ts';
import { OWN_TEAMS, TEAMS } from './team-v1alpha1.ts';
import { createTeams, type TeamSource } from './teams.ts';

export type { Invitations, MembersService, TeamSource };

export interface MembersFeature extends Feature {
  /** The portal calls them. Undefined without the section `members`. */
  readonly sources?: {
    readonly members: MembersService;
    readonly teams: TeamSource;
    readonly invitations: Invitations;
  };
}

const RESOURCES: readonly OwnResource[] = [
  MEMBERS,
  PEOPLE_SEARCHES,
  OWN_TEAMS,
  OWN_INVITATIONS,
  OWN_ACCEPTANCES,
];

/** A page of the portal is made even if its browser is gone. */
const NEVER = new AbortController().signal;

interface KnownInvitations {
  readonly store: InvitationStore;
  readonly informers: Informers;
  readonly rate: RateLimiter;
}

const KNOWN_INVITATIONS = new ComponentType<KnownInvitations>('invitations', INFORMS);
const UPKEEP = new ComponentType<OwnerUpkeep<Invitation>>('upkeep of invitations', RUNS);

/** @param access undefined if the configuration has no RBAC index */
export function createMembers(
  build: FeatureBuild,
  parts: ProxyParts,
  access: AccessIndex | undefined,
): MembersFeature {
  const { loaded, runtime, keystone, provisioningUpstream: upstream } = build;
  const { members: section, tenancy } = loaded.configuration;
  const memberships = createMemberships(build);
  if (section === undefined || upstream === undefined || memberships === undefined || access === undefined) {
    const unavailable = "are off: Stonegate's operator turns them on with the section members";
    return { ownResources: RESOURCES.map((resource) => ({ ...resource, unavailable })) };
  }
  const { mode, ownBodies, asIdentity } = parts;
  const place = operatorPlace(section, tenancy);
  const tenants = createTenantUIDs(build);
  const teams = createTeamSource(
    createTeams({
      ...{ ...parts, ...memberships, teamMembers: section.teamMembers, place, tenants },
      objectsOf: (account) => createObjects(upstream, account),
    }),
    parts,
  );

  deleteFormerObjects(build, [memberships, upstream], {
    ...{ kind: TEAMS, place, tenants, objects: createObjects(upstream, STONEGATE_ACCOUNT) },
    values: () => memberships.index.values(),
  });
  const directory = keystone?.client.directory;
  const { groupsOf, index } = memberships;
  const options = {
    ...{ access, mode, requests: asIdentity, clock: runtime.clock },
    teams: { groupsOf, teamsOf: (tenant: TenantName) => index.teamsOf(tenant) },
    keystone: directory && createKeystoneNames({ directory, ...runtime }),
  };
  const members = createMembersService(options);
  const searchPeople = createPeopleSearch({ ...options, inviteAnyone: section.inviteAnyone });
  const { invitations, upkeep } = createInvitationService(build, upstream, parts, { access, teams, place });

  return {
    authorizers: [
      {
        name: 'sign-in-of-inviters',
        authorize({ identity, tenant }) {
          if (identity.accessToken === undefined) upkeep.signedIn(identity, tenant);
          return undefined;
        },
      },
    ],
    ownResources: [
      { ...MEMBERS, handle: createMembersHandler(members, ownBodies) },
      { ...PEOPLE_SEARCHES, handle: createPeopleSearchHandler(searchPeople, ownBodies) },
      { ...OWN_TEAMS, handle: createTeamHandler({ ...ownBodies, mode, teams: teams.teams }) },
      ...invitationResources(invitations, ownBodies),
    ],
    sources: { members, teams, invitations },
  };
}

function createTeamSource(teams: TeamSource['teams'], { mode, asIdentity }: ProxyParts): TeamSource {
  return {
    teams,
    async callerOf(identity) {
      const { tenant, user } = kubernetesIdentity(identity, mode);
      const { cluster } = await asIdentity.subjectOf(identity);
      return {
        tenant,
        home: mode.reviewTenant(tenant),
        user: { ...user, groups: cluster.groups },
        sender: { kind: 'stonegate' },
        account: { kind: 'tenant', tenant },
        signal: NEVER,
      };
    },
  };
}

function createInvitationService(
  build: FeatureBuild,
  upstream: Upstream,
  { mode, asIdentity: requests, owners }: ProxyParts,
  { access, teams, place }: { access: AccessIndex; teams: TeamSource; place: Place },
): { invitations: Invitations; upkeep: OwnerUpkeep<Invitation> } {
  const { generation, loaded, runtime, explains } = build;
  const { portal } = loaded.configuration;
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
  const invitations = createInvitations({
    ...runtime,
    ...{ place, owners, rate, tenants },
    store: { values: () => [...store.values()].filter((each) => !tenants.isFormer(each)) },
    objectsOf: (tenant) => createObjects(upstream, { kind: 'tenant', tenant }),
    describe: (identity) => kubernetesIdentity(identity, mode),
    targets: createInvitationTargets({ ...runtime, mode, requests, access, teams }),
    linkTo: (secret) => (portal === undefined ? secret : `${portal.publicURL}/invitation/${secret}`),
  });
  return { invitations, upkeep };
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
