/**
 * Invitations to namespaces and to teams. Every process knows all invitations, and keeps them over a reload.
 */
import { ComponentType, type Handle, RUNS } from '../../config/component.ts';
import { Informers } from '../../kubernetes/informers.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import { createRateLimiter, type RateLimiter } from '../../limits/rate-limiter.ts';
import type { Feature } from '../../proxy/feature.ts';
import { kubernetesIdentity } from '../../proxy/identity-source.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import type { PageWithForms } from '../added-forms.ts';
import type { FeatureBuild, ProxyBuild } from '../build.ts';
import { createComponentWithInformers, INFORMS } from '../component-with-informers.ts';
import { deleteFormerObjects } from '../former-objects.ts';
import type { MembersService } from '../members/feature.ts';
import { OwnerUpkeep } from '../owner-upkeep.ts';
import type { Teams } from '../teams/feature.ts';
import type { TenantUIDs } from '../tenant-uids.ts';
import type { InvitationsParts } from './feature.ts';
import { invitationResources } from './handle-invitations.ts';
import { inviteForms } from './invitation-forms.ts';
import { invitationPage } from './invitation-page.ts';
import {
  createInvitationStore,
  endOf,
  type Invitation,
  type InvitationStore,
  storableInvitation,
} from './invitation-store.ts';
import { createInvitationTargets } from './invitation-targets.ts';
import { STORED_INVITATIONS } from './invitation-v1alpha1.ts';
import { Invitations, MOST_PER_HOUR } from './invitations.ts';

interface KnownInvitations {
  readonly store: InvitationStore;
  readonly informers: Informers;
  readonly rate: RateLimiter;
}

const KNOWN_INVITATIONS = new ComponentType<KnownInvitations>('invitations', INFORMS);
const UPKEEP = new ComponentType<OwnerUpkeep<Invitation>>('upkeep of invitations', RUNS);

/** What invitations are to. Undefined where the configuration has no such feature. */
export interface Invited {
  readonly access: AccessIndex | undefined;
  readonly members: { readonly service?: MembersService; readonly page?: PageWithForms };
  readonly teams: { readonly service?: Teams; readonly page?: PageWithForms };
  readonly tenants: TenantUIDs;
}

export function createInvitations(
  build: ProxyBuild<InvitationsParts>,
  { access, members, teams, tenants }: Invited,
): Feature {
  const { parts, scope, runtime, explains, provisioningUpstream: upstream } = build;
  const { mode, asIdentity: requests, owners, ownBodies } = build;
  if (
    parts.known === undefined ||
    upstream === undefined ||
    access === undefined ||
    members.service === undefined ||
    teams.service === undefined
  )
    return {};
  const { place } = parts.known;
  const known = knownInvitations(build, upstream, parts.known);
  const { store, rate } = known;
  const objects = createObjects(upstream, STONEGATE_ACCOUNT);
  const endedAt = (invitation: Invitation, now: number) => endOf(invitation, now)?.at;
  const upkeep = new OwnerUpkeep({
    ...runtime,
    ...{ kind: STORED_INVITATIONS, store, endedAt, place, owners, objects },
    identityOf: ({ identity }) => identity,
  });
  if (!explains) scope.perGeneration(UPKEEP, [known, upstream], () => upkeep);
  deleteFormerObjects(build, [known, upstream], {
    ...{ kind: STORED_INVITATIONS, place, tenants, objects },
    values: store.values,
  });
  const service = new Invitations({
    ...runtime,
    ...{ place, owners, rate, tenants, store },
    objectsOf: (tenant) => createObjects(upstream, { kind: 'tenant', tenant }),
    describe: (identity) => kubernetesIdentity(identity, mode),
    targets: createInvitationTargets({
      ...{ mode, requests, access },
      members: members.service,
      teams: teams.service,
    }),
    linkTo: (secret) => (parts.portalURL === undefined ? secret : `${parts.portalURL}/invitation/${secret}`),
  });
  const pages = [members, teams].flatMap(({ page }) => page?.(inviteForms(service)) ?? []);
  return {
    pages: [...pages, invitationPage(service)],
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

function knownInvitations(
  { scope, runtime }: FeatureBuild<InvitationsParts>,
  upstream: Handle<Upstream>,
  known: NonNullable<InvitationsParts['known']>,
): Handle<KnownInvitations> {
  return createComponentWithInformers(scope, KNOWN_INVITATIONS, known, upstream, ({ place }) => {
    const { clock, logger } = runtime;
    const store = createInvitationStore((tenant) =>
      logger.warn({ tenant }, 'the tenant has too many invitations: they are not listed'),
    );
    const informers = new Informers({ ...runtime, upstream, name: 'invitations' });
    const { filled, onUpdate } = store;
    const path = collectionPath(STORED_INVITATIONS, place);
    informers.add({ path, read: storableInvitation, store: filled, onUpdate });
    const rate = createRateLimiter({ perSecond: MOST_PER_HOUR / 3_600, burst: MOST_PER_HOUR, clock });
    return { store, informers, rate };
  });
}
