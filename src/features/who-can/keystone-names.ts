/**
 * Keystone's names for the ids in groups, read with the service credential: all projects and domains at once,
 * for a minute, since one review names many. A review waits for ten seconds at most, since it can be answered
 * without them.
 */

import type { KeystoneDirectory } from '../../identity/keystone/keystone-directory.ts';
import { keystoneUnavailable } from '../../identity/keystone/keystone-http.ts';
import type { Clock } from '../../lib/clock.ts';
import type { KeystoneNames } from '../../rbac/access-index.ts';

const TTL = 60_000;
/** Milliseconds, less than `askStonegate` waits. */
const TIMEOUT = 10_000;

export interface KeystoneNamesOptions {
  readonly directory: Pick<
    KeystoneDirectory,
    'projects' | 'domains' | 'roleAssignmentsOn' | 'disabledUserIDs'
  >;
  readonly clock: Clock;
}

export function createKeystoneNames({ directory, clock }: KeystoneNamesOptions): KeystoneNames {
  const scopes = cached(clock, async () => {
    const [projects, domains] = await Promise.all([directory.projects(), directory.domains()]);
    return {
      projects: new Map(projects.map(({ id, name, domainID }) => [id, { name, domainID }])),
      domains: new Map(domains.map(({ id, name }) => [id, { name, domainID: id }])),
    };
  });
  const disabled = cached(clock, () => directory.disabledUserIDs());
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

/** One load at a time; a failed one is forgotten. */
function cached<T>(clock: Clock, load: () => Promise<T>): () => Promise<T> {
  let known: { readonly value: Promise<T>; readonly until: number } | undefined;
  return () => {
    const now = clock.now();
    if (known !== undefined && now < known.until) return known.value;
    const value = load();
    const entry = { value, until: now + TTL };
    known = entry;
    value.catch(() => {
      if (known === entry) known = undefined;
    });
    return value;
  };
}

/** @throws StatusError KeystoneUnavailable after the timeout; the load goes on, for the next review */
async function inTime<T>(clock: Clock, value: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = clock.after(TIMEOUT, () =>
    late.reject(keystoneUnavailable(new Error('Keystone did not answer in time'))),
  );
  try {
    return await Promise.race([value, late.promise]);
  } finally {
    timer.cancel();
  }
}
