/**
 * The portal's sessions and sealer. Sessions are sealed in Redis, shared by the replicas, or in this
 * process's memory, under a digest of their id. A drop of a user or a tenant ends their sessions.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { tenantTag, userTag } from '../../cache/drop-tags.ts';
import { createSealingKey } from '../../cache/sealing-key.ts';
import type { EntryKey, SharedCache } from '../../cache/shared-cache.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Codec, jsonCodec } from '../../lib/parse-json.ts';
import type { Random } from '../../lib/random.ts';
import type { Output } from '../../lib/schema-fields.ts';
import { createExpiringCache } from '../../limits/expiring-cache.ts';
import type { KubernetesIdentity } from '../../proxy/identity-source.ts';
import { identitySchema } from '../../tenancy/identity.ts';

const projectSchema = z.strictObject({ id: z.string(), name: z.string() });

/**
 * A user's session. It has no credential: an attacker who reads all sessions learns names and can act as no
 * user. The Kubernetes identity is derived for each page, as the API does it.
 */
const sessionSchema = z.strictObject({
  identity: identitySchema,
  /** Absent if the user signed in with Keystone. */
  issuer: z.string().exactOptional(),
  /** Keystone projects that the user may sign in to. */
  projects: z.array(projectSchema),
  /** Milliseconds since the epoch; never after the credential's own end. */
  expiresAt: z.number(),
});

export type ProjectName = Output<typeof projectSchema>;
export type Session = Output<typeof sessionSchema>;

/**
 * The stored form. Another version of Stonegate may have written it, so a value of any other shape counts as
 * not found, and the user signs in again. Another form needs another name.
 */
export const sessionCodec: Codec<Session> = jsonCodec('portal-session-2', sessionSchema);

export interface SessionStore {
  /** @returns false if it could not be stored */
  save(id: string, session: Session, identity: KubernetesIdentity): Promise<boolean>;
  find(id: string): Promise<Session | undefined>;
  /** @returns false if it may still exist */
  remove(id: string): Promise<boolean>;
}

const digestOf = (id: string): string => hash('sha256', id, 'base64url');

/** @param configurationDigest sessions of another configuration are not found */
export function createSharedSessions(options: {
  readonly shared: SharedCache;
  readonly configurationDigest: string;
  readonly clock: Clock;
}): SessionStore {
  const { shared, configurationDigest, clock } = options;
  const keyOf = (id: string): EntryKey => ({
    cache: sessionCodec.name,
    digest: digestOf(id),
    configurationDigest,
  });
  return {
    async save(id, session, known) {
      const tagEpochs = shared.epochsOf(tagsOf(session, known), shared.moment());
      if (tagEpochs === undefined) return false;
      const { expiresAt } = session;
      const content = {
        value: sessionCodec.encode(session),
        storedAt: clock.now(),
        credentialExpiresAt: expiresAt,
        discardAt: expiresAt,
      };
      return shared.save(keyOf(id), { content, tagEpochs });
    },
    async find(id) {
      const found = await shared.find(keyOf(id));
      return found && sessionCodec.decode(found.content.value);
    },
    remove: (id) => shared.remove(keyOf(id)),
  };
}

/** @param maxSessions the one unused longest goes first */
export function createMemorySessions(options: {
  readonly maxSessions: number;
  readonly clock: Clock;
}): SessionStore {
  const sessions = createExpiringCache<Session>({ maxEntries: options.maxSessions, clock: options.clock });
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

/** Authenticated encryption and MACs with a key that all replicas share. */
export interface Sealer {
  /** @returns base64url */
  seal(text: string, purpose: string): string;
  /** @returns undefined if the text was not sealed for this purpose */
  open(sealed: string, purpose: string): string | undefined;
  /** @returns base64url */
  mac(parts: readonly string[]): string;
  verify(mac: string, parts: readonly string[]): boolean;
}

const CONTEXT = 'portal';
const KEY_BYTES = 32;

/**
 * Seals what the portal stores in browsers, and authenticates its forms. All replicas with the cache's keys
 * can open it.
 *
 * @param secrets 32 bytes each: the first one seals, all of them open; without any, a key of this process is
 *   used
 */
export function createPortalSealer(secrets: readonly Buffer[], random: Random): Sealer {
  const keys = (secrets.length === 0 ? [random.bytes(KEY_BYTES)] : secrets).map((secret) =>
    createSealingKey(secret, random),
  );
  const [first] = keys;
  if (first === undefined) throw new RangeError('the portal needs a sealing key');
  return {
    seal: (text, purpose) => first.seal(text, [CONTEXT, purpose]).toString('base64url'),
    open(sealed, purpose) {
      const bytes = Buffer.from(sealed, 'base64url');
      for (const key of keys) {
        const text = key.open(bytes, [CONTEXT, purpose]);
        if (text !== undefined) return text;
      }
      return undefined;
    },
    mac: (parts) => first.mac(CONTEXT, parts),
    verify: (mac, parts) => keys.some((key) => key.verify(mac, CONTEXT, parts)),
  };
}
