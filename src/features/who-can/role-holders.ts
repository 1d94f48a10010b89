/**
 * Who holds the Keystone roles of a review of who can do something, within a bound of what is asked
 * and of what is listed.
 */

import { StatusError } from '../../errors/status-error.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { readKeystoneGroup } from '../../tenancy/keystone-groups.ts';
import type { KeystoneNames } from './keystone-names.ts';
import type { WhoCanGrant } from './who-can-v1alpha1.ts';

/** Bounds the holders of all grants together. */
export const MAX_HOLDERS = 10_000;
/** Projects and domains whose holders are listed in one review. */
const MAX_PLACES = 100;
const KEYSTONE_REQUESTS = 4;

type Holders = ReadonlyMap<string, readonly { readonly user: string; readonly role: string }[]>;

/** Who holds roles now, by project or domain. */
export async function holdersNow(
  grants: readonly WhoCanGrant[],
  keystone: KeystoneNames | undefined,
  warnings: string[],
): Promise<Holders> {
  const holders = new Map<string, readonly { readonly user: string; readonly role: string }[]>();
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
