/**
 * The teams of all tenants, filled by an informer, and the groups that each user has by them.
 */
import type { InformerList, InformerStore, StorableObject } from '../../kubernetes/informer-store.ts';
import { groupOf, revisionOf, type Team } from './team-v1alpha1.ts';

type Groups = readonly string[];

export const NO_GROUPS: Groups = Object.freeze([]);

interface Membership {
  /** All teams of the user share this one string: a million copies would take much memory. */
  readonly user: string;
  /** The same array as long as the user's teams are the same: caches have it as their key. */
  readonly groups: Groups;
}

export class TeamIndex implements InformerStore<StorableObject<Team>> {
  /** The key is that of the stored object. */
  readonly #teams = new Map<string, Team>();
  /** Tenant → user. */
  readonly #users = new Map<string, Map<string, Membership>>();

  groupsOf(tenant: string, username: string): Groups {
    return this.#users.get(tenant)?.get(username)?.groups ?? NO_GROUPS;
  }

  teamsOf(tenant: string): Team[] {
    return [...this.#teams.values()].filter(({ spec }) => spec.tenant === tenant);
  }

  revisionOf({ key }: StorableObject<Team>): number | undefined {
    const team = this.#teams.get(key);
    return team && revisionOf(team);
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

  #replace(key: string, next: Team | undefined): void {
    const previous = this.#teams.get(key);
    this.#teams.delete(key);
    const spec = (next ?? previous)?.spec;
    if (spec === undefined) return;
    const users = this.#users.get(spec.tenant) ?? new Map<string, Membership>();
    this.#users.set(spec.tenant, users);
    const group = groupOf(spec);
    const left = new Set(previous?.spec.members);
    for (const user of new Set(next?.spec.members))
      if (!left.delete(user)) setGroups(users, user, (groups) => [...groups, group]);
    for (const user of left) setGroups(users, user, (groups) => groups.filter((other) => other !== group));
    if (users.size === 0) this.#users.delete(spec.tenant);
    if (next === undefined) return;
    const members = next.spec.members.map((user) => users.get(user)?.user ?? user);
    this.#teams.set(key, { ...next, spec: { ...next.spec, members } });
  }
}

function setGroups(users: Map<string, Membership>, user: string, change: (groups: Groups) => Groups): void {
  const present = users.get(user) ?? { user, groups: NO_GROUPS };
  const groups = Object.freeze(change(present.groups));
  if (groups.length > 0) users.set(present.user, { user: present.user, groups });
  else users.delete(user);
}
