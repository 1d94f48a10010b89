/**
 * Lists, creates, changes and deletes the teams of a tenant, for its users. Who may do what is decided here
 * by the user's RBAC on `teams.stonegate.dev`, and by being a member or manager of the team; the stored
 * objects are read and written with the provisioning credential.
 */

import { StatusError } from '../../errors/status-error.ts';
import { type AccessReviewer, isAllowed, type ReviewSubject } from '../../kubernetes/access-reviewer.ts';
import { TENANCY_API_VERSION } from '../../kubernetes/custom-resource.ts';
import { forbidden } from '../../kubernetes/forbidden.ts';
import type { Place, StoredObject } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import { labelProblem } from '../../kubernetes/reserved-names.ts';
import type { Account } from '../../kubernetes/upstream-request.ts';
import { type Clock, waitUntil } from '../../lib/clock.ts';
import type { Output } from '../../lib/schema-fields.ts';
import type { IdentityRequests } from '../../proxy/as-identity.ts';
import { kubernetesIdentity } from '../../proxy/identity-source.ts';
import { OWN_GROUP, OWN_VERSION } from '../../proxy/own-api.ts';
import { invalidObject } from '../../proxy/own-body.ts';
import { ownObjectNotFound } from '../../proxy/response/own-objects.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { assertMayHaveMembers } from '../may-have-members.ts';
import type { TenantUIDs } from '../tenant-uids.ts';
import type { TeamIndex } from './team-index.ts';
import {
  OWN_TEAMS,
  readTeam,
  revisionOf,
  type ShownTeam,
  shownTeam,
  storedForTenant,
  storedName,
  TEAMS,
  type Team,
  type teamSpecSchema,
} from './team-v1alpha1.ts';

/** The user who asks, and the user's own tenant. */
export interface TeamCaller extends ReviewSubject {
  readonly tenant: TenantName;
  readonly signal: AbortSignal;
}

export interface TeamsOptions {
  readonly mode: Pick<TenancyMode, 'memberName' | 'isSystem' | 'reviewTenant' | 'tenantOf' | 'userOf'>;
  readonly asIdentity: Pick<IdentityRequests, 'subjectOf'>;
  readonly reviewer: AccessReviewer;
  /** @param account of the tenant, which is charged */
  readonly objectsOf: (account: Account) => Objects;
  readonly place: Place;
  readonly index: TeamIndex;
  /** Whether the index is complete. */
  readonly isCurrent: () => boolean;
  /** The most members, and managers, of one team. */
  readonly teamMembers: number;
  readonly tenants: Pick<TenantUIDs, 'isFormer' | 'labelsFor'>;
  readonly clock: Clock;
}

export type GivenTeam = Output<typeof teamSpecSchema>;

/** What is to be written. */
export interface TeamChange {
  readonly name: string;
  readonly spec: GivenTeam;
  /** The state of the team that is to be changed; undefined for a new team. */
  readonly resourceVersion?: string | undefined;
  /** Whether everything is checked and nothing is written. */
  readonly isDryRun: boolean;
}

/** Bound the memory that one tenant takes in every process. */
const MAX_TEAMS = 1_000;
/** Characters of a name on average, if a team has as many members and managers as it may. */
const NAME_LENGTH = 64;
/** Milliseconds for which a response waits until the index has what was written. */
const INDEX_WAIT = 1_000;

/** A page of the portal is made, and an invitation is accepted, even if the client is gone. */
const NEVER = new AbortController().signal;

type IsEntitled = (team: Team, username: string) => boolean;

/** Every method throws a StatusError: NotFound, AccessDenied, and what reviews and writes throw. */
export class Teams {
  readonly #options: TeamsOptions;

  constructor(options: TeamsOptions) {
    this.#options = options;
  }

  /** The caller of whom there is no request of the API: on a page, or an inviter. */
  async callerOf(identity: Identity): Promise<TeamCaller> {
    const { mode, asIdentity } = this.#options;
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
  }

  mayCreate(caller: TeamCaller): Promise<boolean> {
    return this.#may(caller, 'create');
  }

  /** The teams that the user is in or manages; all with the right to list them. */
  async list(caller: TeamCaller): Promise<readonly ShownTeam[]> {
    const { isCurrent, index } = this.#options;
    if (!isCurrent()) throw new StatusError('UpstreamUnavailable', 'the teams are not known at the moment');
    const { tenant, user } = caller;
    const all = await this.#may(caller, 'list');
    const seen = index.teamsOf(tenant).filter((team) => all || concerns(team, user.username));
    return seen.sort((one, other) => (one.spec.name < other.spec.name ? -1 : 1)).map(shownTeam);
  }

  async get(caller: TeamCaller, name: string): Promise<ShownTeam> {
    return shownTeam((await this.#find(caller, name, 'get', concerns)).team);
  }

  /** @throws StatusError AlreadyExists, ObjectInvalid */
  async create(caller: TeamCaller, change: TeamChange): Promise<ShownTeam> {
    const { index, objectsOf, tenants, place } = this.#options;
    const { tenant, account, signal } = caller;
    const { name, isDryRun } = change;
    if (!(await this.#may(caller, 'create'))) throw refused(caller, 'create', '');
    const problem = labelProblem(name);
    if (problem !== undefined) throw invalid(`a name that ${problem}`, 'metadata.name');
    const teams = index.teamsOf(tenant);
    if (teams.length >= MAX_TEAMS)
      throw refused(caller, 'create', '', `the tenant has ${MAX_TEAMS} teams, the most that it may have`);
    const spec = this.#completeSpec(caller, change);
    if (!isDryRun) {
      const objects = objectsOf(account);
      const labels = await tenants.labelsFor(tenant, objects, signal);
      const metadata = { name: storedName(tenant, name), ...place, labels };
      const team = { apiVersion: TENANCY_API_VERSION, kind: 'Team', metadata, spec };
      return this.#written(caller, name, await objects.create(TEAMS, place, team, signal));
    }
    if (teams.some((other) => other.spec.name === name)) throw conflict('AlreadyExists', name);
    return shownTeam({ metadata: { name, uid: '', resourceVersion: '', creationTimestamp: '' }, spec });
  }

  /** @throws StatusError Conflict, ObjectInvalid */
  async update(caller: TeamCaller, change: TeamChange): Promise<ShownTeam> {
    const { objectsOf, place } = this.#options;
    const { account, signal } = caller;
    const { name, resourceVersion, isDryRun } = change;
    const { team, object } = await this.#find(caller, name, 'update', manages);
    if (resourceVersion !== team.metadata.resourceVersion) throw conflict('Conflict', name);
    const spec = this.#completeSpec(caller, change, team);
    if (isDryRun) return shownTeam({ ...team, spec });
    const changed = { ...object, spec };
    return this.#written(caller, name, await objectsOf(account).update(TEAMS, place, changed, signal));
  }

  /** @throws StatusError Conflict */
  async delete(caller: TeamCaller, name: string, isDryRun: boolean): Promise<ShownTeam> {
    const { objectsOf, place } = this.#options;
    const { team, object } = await this.#find(caller, name, 'delete', () => false);
    if (isDryRun) return shownTeam(team);
    const outcome = await objectsOf(caller.account).delete(TEAMS, place, object, caller.signal);
    if (outcome === 'conflict') throw conflict('Conflict', name);
    await this.#waitForIndex(caller, name, (known) => known?.metadata.uid !== team.metadata.uid);
    return shownTeam(team);
  }

  #may(caller: TeamCaller, verb: string, name = ''): Promise<boolean> {
    const { home: tenant, signal } = caller;
    const resourceAttributes = {
      ...{ verb, group: OWN_GROUP, version: OWN_VERSION, resource: 'teams' },
      ...(name !== '' && { name }),
      ...(tenant !== undefined && { tenant }),
    };
    return isAllowed(this.#options.reviewer, caller, { resourceAttributes }, signal);
  }

  /** @param isEntitled whether the user needs no right for it */
  async #find(caller: TeamCaller, name: string, verb: string, isEntitled: IsEntitled) {
    const { objectsOf, place, tenants } = this.#options;
    const { tenant, user, account, signal } = caller;
    const object = await objectsOf(account).get(TEAMS, place, storedName(tenant, name), signal);
    const team = readTeam(object);
    const isPresent = team?.spec.tenant === tenant && !tenants.isFormer(storedForTenant(team));
    if (object === undefined || !isPresent) throw ownObjectNotFound(name, OWN_TEAMS);
    if (isEntitled(team, user.username) || (await this.#may(caller, verb, name))) return { team, object };
    // Members and managers know that the team exists.
    throw concerns(team, user.username) ? refused(caller, verb, name) : ownObjectNotFound(name, OWN_TEAMS);
  }

  /**
   * The spec with whole names of users, and with the managers that the change leaves out.
   *
   * @throws StatusError ObjectInvalid; AccessDenied in the system tenant
   */
  #completeSpec(caller: TeamCaller, { name, spec }: TeamChange, present?: Team): Team['spec'] {
    const { mode, teamMembers } = this.#options;
    const { tenant, user } = caller;
    assertMayHaveMembers(tenant, mode);
    const { members = [], managers = [user.username] } = present?.spec ?? {};
    // Names that are in the team already are whole, whatever they look like.
    const known = new Set([...members, ...managers, user.username]);
    const wholeNames = (names: readonly string[]) =>
      [...new Set(names.map((each) => (known.has(each) ? each : this.#memberName(each, tenant))))].sort();
    const { description } = spec;
    const complete = {
      tenant,
      name,
      ...(description !== undefined && { description }),
      members: wholeNames(spec.members ?? []),
      managers: wholeNames(spec.managers ?? managers),
    };
    if (complete.managers.length === 0) throw invalid('a team has at least one manager', 'spec.managers');
    if (Math.max(complete.members.length, complete.managers.length) > teamMembers)
      throw invalid(`a team has at most ${teamMembers} members and as many managers`);
    const length = [...complete.members, ...complete.managers].join('').length;
    const longest = 2 * teamMembers * NAME_LENGTH;
    if (length > longest) throw invalid(`its names have ${longest} characters at most together`);
    return complete;
  }

  #memberName(wanted: string, tenant: TenantName): string {
    try {
      return this.#options.mode.memberName(wanted, tenant);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      throw invalid(`${JSON.stringify(wanted)} can be no user of the tenant`);
    }
  }

  /** @param outcome what `objects` returned: the stored object, or why it was not written */
  async #written(
    caller: TeamCaller,
    name: string,
    outcome: StoredObject | 'exists' | 'conflict' | 'gone',
  ): Promise<ShownTeam> {
    const team = readTeam(outcome);
    if (team === undefined) throw conflict(outcome === 'exists' ? 'AlreadyExists' : 'Conflict', name);
    const isReached = (known?: Team) => known !== undefined && revisionOf(known) >= revisionOf(team);
    await this.#waitForIndex(caller, name, isReached);
    return shownTeam(team);
  }

  /** kubectl lists what it has just deleted: it must not see the team again. */
  async #waitForIndex(
    { tenant, signal }: TeamCaller,
    name: string,
    isReached: (team?: Team) => boolean,
  ): Promise<void> {
    const { index, clock } = this.#options;
    const found = () => index.teamsOf(tenant).find(({ spec }) => spec.name === name);
    await waitUntil(() => isReached(found()), clock, INDEX_WAIT, signal);
  }
}

function manages({ spec }: Team, username: string): boolean {
  return spec.managers.includes(username);
}

function concerns(team: Team, username: string): boolean {
  return team.spec.members.includes(username) || manages(team, username);
}

function refused({ user, home }: TeamCaller, verb: string, name: string, note?: string): StatusError {
  const place = { apiGroup: OWN_GROUP, namespace: '', resource: 'teams', subresource: '' };
  const info = { isResourceRequest: true, verb, name, ...place } as const;
  return forbidden('AccessDenied', info, user.username, home, undefined, note);
}

const CONFLICTS = {
  AlreadyExists: 'already exists',
  Conflict:
    'cannot be changed: the object has been modified; please apply your changes to the latest version and try again',
} as const;

function conflict(code: keyof typeof CONFLICTS, name: string): StatusError {
  return new StatusError(code, `teams.${OWN_GROUP} ${JSON.stringify(name)} ${CONFLICTS[code]}`, {
    details: { name, group: OWN_GROUP, kind: 'teams' },
  });
}

function invalid(message: string, field = 'spec'): StatusError {
  return invalidObject('Team', field, message);
}
