/**
 * The index of the teams of all tenants, from which every request gets the groups of its user.
 */

import { ComponentType, type Handle } from '../../config/component.ts';
import { storableObjects } from '../../kubernetes/informer-store.ts';
import { Informers, type InformerUpstream } from '../../kubernetes/informers.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import type { Clock } from '../../lib/clock.ts';
import { READY_TIMEOUT, type ReadinessCheck } from '../../lib/readiness.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { FeatureBuild } from '../build.ts';
import { createComponentWithInformers, INFORMS } from '../component-with-informers.ts';
import type { TenantUIDs } from '../tenant-uids.ts';
import type { TeamsParts } from './feature.ts';
import { NO_GROUPS, type TeamDirectory, TeamIndex } from './team-index.ts';
import { readTeam, TEAMS } from './team-v1alpha1.ts';

/** Memberships count for so many milliseconds after the informer last proved them. */
const MEMBERSHIP_LIFETIME = 180_000;

export interface Memberships extends TeamDirectory {
  readonly index: TeamIndex;
  readonly informers: Informers;
  /** Whether all teams are known, or were so until lately. */
  readonly isCurrent: () => boolean;
}

const MEMBERSHIPS = new ComponentType<Memberships>('memberships of teams', INFORMS);

export interface MembershipsOptions extends Runtime {
  readonly tenants: Pick<TenantUIDs, 'isFormer' | 'stateOf'>;
  readonly upstream: InformerUpstream;
  /** The path of the list of stored teams. */
  readonly path: string;
}

export function openMemberships({ upstream, path, tenants, ...runtime }: MembershipsOptions): Memberships {
  const index = new TeamIndex(tenants);
  const informers = new Informers({ ...runtime, name: 'teams', upstream });
  const informer = informers.add({ path, read: storableObjects(readTeam), store: index });
  const isCurrent = () =>
    informer.provenAt !== undefined && runtime.clock.now() - informer.provenAt < MEMBERSHIP_LIFETIME;
  return {
    index,
    informers,
    isCurrent,
    groupsOf: (tenant, username) => (isCurrent() ? index.groupsOf(tenant, username) : NO_GROUPS),
    teamsOf: (tenant) => index.teamsOf(tenant),
  };
}

/** @returns undefined without the section `members` */
export function createMemberships(
  { parts: { known }, scope, runtime, provisioningUpstream: upstream }: FeatureBuild<TeamsParts>,
  tenants: TenantUIDs,
): Handle<Memberships> | undefined {
  if (known === undefined || upstream === undefined) return undefined;
  return createComponentWithInformers(scope, MEMBERSHIPS, known, upstream, ({ place }) =>
    openMemberships({ ...runtime, upstream, tenants, path: collectionPath(TEAMS, place) }),
  );
}

/**
 * Keeps a process from being ready that has not listed the teams: it would refuse their members.
 *
 * @param startedAt when the process started, in milliseconds since the epoch
 */
export function createTeamReadiness(
  memberships: Memberships,
  clock: Clock,
  startedAt: number,
): ReadinessCheck {
  const isLate = () => clock.now() - startedAt >= READY_TIMEOUT;
  return {
    name: 'teams',
    notReadyBecause: () =>
      memberships.isCurrent() || isLate() ? undefined : 'the teams have not been listed yet',
  };
}
