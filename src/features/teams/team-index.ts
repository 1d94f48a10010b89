/**
 * The teams of all tenants, filled by an informer, and the groups that each user has by them.
 */
import type { InformerList, InformerStore, StorableObject } from '../../kubernetes/informer-store.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { GroupsOf } from '../../tenancy/tenancy-mode.ts';
import type { StoredForTenant } from '../former-objects.ts';
import type { TenantUIDs } from '../tenant-uids.ts';
import { groupOf, revisionOf, storedForTenant, type Team } from './team-v1alpha1.ts';

/** What is known of the teams of all tenants. */
export interface TeamDirectory {
  /** The groups of the teams that the user is in. */
  readonly groupsOf: GroupsOf;
  readonly teamsOf: (
    tenant: TenantName,
  ) => readonly { readonly spec: Pick<Team['spec'], 'name' | 'members'> }[];
}

type Groups = readonly string[];

export const NO_GROUPS: Groups = Object.freeze([]);

interface Membership {
  /** All teams of the user share this one string: a million copies would take much memory. */
  readonly user: string;
  /** The same array as long as the user's teams are the same: caches have it as their key. */
  readonly groups: Groups;
}

interface KnownTeam {
  readonly team: Team;
  readonly stored: StoredForTenant;
  /** The members who are in the group: none of a team that was made for a deleted tenant. */
  readonly counted: readonly string[];
}

export class TeamIndex implements InformerStore<StorableObject<Team>> {
  readonly #tenants: Pick<TenantUIDs, 'isFormer' | 'stateOf'>;
  /** The key is that of the stored object. */
  readonly #teams = new Map<string, KnownTeam>();
  /** Tenant → user. */
  readonly #users = new Map<string, Map<string, Membership>>();
  /** The states of the tenants as of which their teams' members are counted. */
  readonly #states = new Map<string, object | undefined>();

  constructor(tenants: Pick<TenantUIDs, 'isFormer' | 'stateOf'>) {
    this.#tenants = tenants;
  }

  groupsOf(tenant: string, username: string): Groups {
    if (this.#states.get(tenant) !== this.#tenants.stateOf(tenant)) this.#countAnew(tenant);
    return this.#users.get(tenant)?.get(username)?.groups ?? NO_GROUPS;
  }

  /** The teams of the tenant that exists now. */
  teamsOf(tenant: string): Team[] {
    return this.#of(tenant).flatMap(([, { team, stored }]) => (this.#tenants.isFormer(stored) ? [] : [team]));
  }

  /** All teams, those that were made for deleted tenants too. */
  values(): StoredForTenant[] {
    return [...this.#teams.values()].map(({ stored }) => stored);
  }

  revisionOf({ key }: StorableObject<Team>): number | undefined {
    const known = this.#teams.get(key);
    return known && revisionOf(known.team);
  }

  /** Every team counts as soon as it is read: none depends on another. */
  beginList(): InformerList<StorableObject<Team>> {
    const listed = new Set<string>();
    return {
      take: (objects) => {
        for (const object of objects) {
          listed.add(object.key);
          if (this.revisionOf(object) !== object.revision) this.put(object);
        }
      },
      end: () => {
        for (const key of this.#teams.keys()) if (!listed.has(key)) this.#replace(key, undefined);
      },
    };
  }

  put({ key, value }: StorableObject<Team>): void {
    this.#replace(key, value);
  }

  delete({ key }: StorableObject<Team>): void {
    this.#replace(key, undefined);
  }

  #of(tenant: string): [string, KnownTeam][] {
    return [...this.#teams].filter(([, { team }]) => team.spec.tenant === tenant);
  }

  #countAnew(tenant: string): void {
    this.#states.set(tenant, this.#tenants.stateOf(tenant));
    for (const [key, { team }] of this.#of(tenant)) this.#replace(key, team);
  }

  #replace(key: string, next: Team | undefined): void {
    const previous = this.#teams.get(key);
    this.#teams.delete(key);
    const spec = (next ?? previous?.team)?.spec;
    if (spec === undefined) return;
    const users = this.#users.get(spec.tenant) ?? new Map<string, Membership>();
    this.#users.set(spec.tenant, users);
    const group = groupOf(spec);
    const left = new Set(previous?.counted);
    const stored = next && storedForTenant(next);
    const counted = stored && !this.#tenants.isFormer(stored) ? next?.spec.members : [];
    for (const user of new Set(counted))
      if (!left.delete(user)) setGroups(users, user, (groups) => [...groups, group]);
    for (const user of left) setGroups(users, user, (groups) => groups.filter((other) => other !== group));
    if (users.size === 0) this.#users.delete(spec.tenant);
    if (next === undefined || stored === undefined) return;
    const members = next.spec.members.map((user) => users.get(user)?.user ?? user);
    const team = { ...next, spec: { ...next.spec, members } };
    this.#teams.set(key, { team, stored, counted: counted === next.spec.members ? members : [] });
  }
}

function setGroups(users: Map<string, Membership>, user: string, change: (groups: Groups) => Groups): void {
  const present = users.get(user) ?? { user, groups: NO_GROUPS };
  const groups = Object.freeze(change(present.groups));
  if (groups.length > 0) users.set(present.user, { user: present.user, groups });
  else users.delete(user);
}
