/**
 * Keystone's names for the ids in groups, and who holds its roles, read with the service credential: all
 * projects and domains at once, for a minute, since one review names many. A review waits for ten seconds at
 * most, since it can be answered without them.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { KeystoneDirectory } from '../../identity/keystone/keystone-directory.ts';
import { keystoneUnavailable } from '../../identity/keystone/keystone-http.ts';
import { type Clock, unlessAborted, withDeadline } from '../../lib/clock.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { memoizeFor } from '../../lib/memoize.ts';
import type { Scopes } from '../../proxy/subject-owner.ts';
import { readKeystoneGroup } from '../../tenancy/keystone-groups.ts';
import type { WhoCanGrant } from './who-can-v1alpha1.ts';

const TTL = 60_000;
/** Milliseconds, less than `askStonegate` waits. */
const TIMEOUT = 10_000;

/** Keystone's names for the ids in groups, and who holds a role. */
export interface KeystoneNames {
  /**
   * The projects and domains by id; perhaps as they were a minute ago.
   *
   * @throws StatusError KeystoneUnavailable
   */
  scopes(): Promise<Scopes>;
  /**
   * The enabled users who hold a role on a project or domain now, as `name@domain`, by the role's name.
   *
   * @throws StatusError KeystoneUnavailable
   */
  holders(kind: 'project' | 'domain', id: string): Promise<readonly RoleHolder[]>;
}

export interface RoleHolder {
  readonly user: string;
  readonly role: string;
}

export interface KeystoneNamesOptions {
  readonly directory: Pick<
    KeystoneDirectory,
    'projects' | 'domains' | 'roleAssignmentsOn' | 'disabledUserIDs'
  >;
  readonly clock: Clock;
}

export function createKeystoneNames({ directory, clock }: KeystoneNamesOptions): KeystoneNames {
  const scopes = memoizeFor(TTL, clock, async () => {
    const [projects, domains] = await Promise.all([directory.projects(), directory.domains()]);
    return {
      projects: new Map(projects.map(({ id, name, domainID }) => [id, { name, domainID }])),
      domains: new Map(domains.map(({ id, name }) => [id, { name, domainID: id }])),
    };
  });
  const disabled = memoizeFor(TTL, clock, () => directory.disabledUserIDs());
  return {
    scopes: () => inTime(clock, scopes()),
    async holders(kind, id) {
      const asked = Promise.all([directory.roleAssignmentsOn({ kind, id }), disabled()]);
      const [assignments, without] = await inTime(clock, asked);
      return assignments
        .filter(({ user }) => !without.has(user.id))
        .map(({ user, role }) => ({ user: `${user.name}@${user.domain.name}`, role: role.name }));
    },
  };
}

/** @throws StatusError KeystoneUnavailable after the timeout; the load goes on, for the next review */
function inTime<T>(clock: Clock, value: Promise<T>): Promise<T> {
  const late = () => keystoneUnavailable('Keystone did not answer in time');
  return withDeadline(clock, TIMEOUT, late, (signal) => unlessAborted(value, signal));
}

/** Bounds the holders of all grants together. */
export const MAX_HOLDERS = 10_000;
/** Projects and domains whose holders are listed in one review. */
const MAX_PLACES = 100;
const KEYSTONE_REQUESTS = 4;

type Holders = ReadonlyMap<string, readonly RoleHolder[]>;

/** Who holds roles now, by project or domain. */
export async function holdersNow(
  grants: readonly WhoCanGrant[],
  keystone: KeystoneNames | undefined,
  warnings: string[],
): Promise<Holders> {
  const holders = new Map<string, readonly RoleHolder[]>();
  if (keystone === undefined) return holders;
  // A display name is given only to groups whose scope the viewer may know.
  const named = grants.flatMap(({ subject: { name, displayName } }) =>
    displayName === undefined ? [] : [name],
  );
  const places = new Map<string, { readonly kind: 'project' | 'domain'; readonly id: string }>();
  for (const name of named) {
    const group = readKeystoneGroup(name);
    if (group?.kind === 'project' || group?.kind === 'domain')
      places.set(`${group.kind}:${group.id}`, { kind: group.kind, id: group.id });
  }
  if (places.size > MAX_PLACES)
    warnings.push(`the people of only ${MAX_PLACES} of ${places.size} projects and domains are listed`);
  const asked = [...places].slice(0, MAX_PLACES);
  try {
    await mapWithConcurrency(asked, KEYSTONE_REQUESTS, async ([key, { kind, id }]) => {
      holders.set(key, await keystone.holders(kind, id));
    });
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    warnings.push('Keystone cannot be asked for the people of each role');
  }
  return holders;
}

/** A grant that does not fit within the bound has no holders, or not all of them. */
export function addHolders(
  grants: readonly WhoCanGrant[],
  holders: Holders,
): { readonly grants: readonly WhoCanGrant[]; readonly isCut: boolean } {
  let left = MAX_HOLDERS;
  let isCut = false;
  const described = grants.map((grant) => {
    const all = left === 0 && isCut ? undefined : holdersOf(grant, holders);
    if (all === undefined) return grant;
    if (all.length > left) isCut = true;
    const listed = all.slice(0, left);
    left -= listed.length;
    return { ...grant, subject: { ...grant.subject, people: listed } };
  });
  return { grants: described, isCut };
}

/** Sorted; undefined if they are not known. */
function holdersOf(grant: WhoCanGrant, holders: Holders): readonly string[] | undefined {
  const group = readKeystoneGroup(grant.subject.name);
  const known = group && holders.get(`${group.kind}:${group.id}`);
  if (group === undefined || known === undefined || grant.subject.displayName === undefined) return undefined;
  const users = known.filter(({ role }) => group.role === '' || role === group.role).map(({ user }) => user);
  return [...new Set(users)].sort();
}
