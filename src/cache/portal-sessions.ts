/**
 * Where the portal's sessions are: sealed in Redis, where replicas share them, or in this process alone. A session's id
 * is kept nowhere; it is found by a digest. Dropping a user or a tenant from the cache ends their sessions too.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { tenantTag, userTag } from '../lib/drop-tags.ts';
import type { KubernetesIdentity, Session, SessionStore } from '../portal/ports.ts';
import { createMemoryTier } from './memory.ts';
import type { EntryKey, SharedCache } from './shared-cache.ts';

/** With the version of what is kept: an older or newer Stonegate's sessions are none. */
const CACHE = 'portal-session-1';

const digestOf = (id: string): string => hash('sha256', id, 'base64url');

/** @param configurationDigest sessions made under another are none */
export function createSharedSessions(options: {
  readonly shared: SharedCache;
  readonly configurationDigest: string;
  readonly clock: Clock;
}): SessionStore {
  const { shared, configurationDigest, clock } = options;
  const keyOf = (id: string): EntryKey => ({ cache: CACHE, digest: digestOf(id), configurationDigest });
  return {
    async save(id, session, known) {
      const stamp = shared.stamp(tagsOf(session, known), shared.mark());
      if (stamp === undefined) return false;
      const { expiresAt } = session;
      const content = {
        value: JSON.stringify(session),
        storedAt: clock.now(),
        credentialExpiresAt: expiresAt,
        discardAt: expiresAt,
      };
      return shared.save(keyOf(id), { content, stamp });
    },
    async find(id) {
      const found = await shared.find(keyOf(id));
      if (found === undefined) return undefined;
      const session: Session = JSON.parse(found.content.value);
      return session;
    },
    remove: (id) => shared.remove(keyOf(id)),
  };
}

/** @param maxSessions the one unused longest goes first */
export function createMemorySessions(options: {
  readonly maxSessions: number;
  readonly clock: Clock;
}): SessionStore {
  const sessions = createMemoryTier<Session>({ maxEntries: options.maxSessions, clock: options.clock });
  return {
    async save(id, session) {
      sessions.set(digestOf(id), session, session.expiresAt);
      return true;
    },
    find: async (id) => sessions.get(digestOf(id)),
    async remove(id) {
      sessions.delete(digestOf(id));
      return true;
    },
  };
}

function tagsOf({ identity }: Session, { tenant, user }: KubernetesIdentity): string[] {
  const names = identity.uid === '' ? [user.username] : [identity.uid, user.username];
  return [...names.map(userTag), tenantTag(tenant)];
}
