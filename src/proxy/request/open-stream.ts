/**
 * Enters long-running requests into their registry, as soon as their user is known and before anything is
 * sent for them; and validates them again while they last, by the same stages as a new request.
 */

import { StatusError } from '../../errors/status-error.ts';
import { runAuthenticators } from '../../identity/authenticator.ts';
import type { UserInfo } from '../../kubernetes/authentication-v1.ts';
import type { Identity } from '../../tenancy/identity.ts';
import { permitOf } from '../crossing.ts';
import { establish, type Scoped } from '../request-context.ts';
import { roleScopeOf, type Stages } from '../stages.ts';
import type { OpenStream, StreamCredential } from '../streams/open-stream.ts';
import type { StreamRegistry } from '../streams/stream-registry.ts';
import type { Policies } from '../tenant-entry.ts';

type RecheckStages = Pick<Stages, 'clock' | 'authenticators' | 'anonymousAccess' | 'mode' | 'roles'>;

/**
 * Enters a long-running request into the registry.
 *
 * @throws StatusError StreamLimitExceeded
 */
export function openStream(scoped: Scoped, streams: StreamRegistry): void {
  const { info, tenant, named: user, proven: identity, credential, sourceIPs, receivedAt, crossing } = scoped;
  if (info.longRunning === undefined) return;
  const [source] = sourceIPs;
  const kind = info.longRunning;
  const entry = crossing && { entry: crossing.entry };
  const facts = { info, kind, tenant, user, identity, credential, source, receivedAt, ...entry };
  establish(scoped, { stream: streams.open(facts) });
}

/**
 * Whether a new request for a guest's stream would be permitted now.
 *
 * @param now milliseconds since the epoch
 */
export function permitsStream(
  { entry, info }: Pick<OpenStream, 'entry' | 'info'>,
  policies: Policies | undefined,
  now: number,
): boolean {
  return entry !== undefined && policies !== undefined && permitOf(entry, info, policies, now) !== undefined;
}

/**
 * Ends the streams that a new request with the credential would not be: refused, or of another tenant, user
 * or group. What the user may do, the API server decided when each stream began.
 *
 * @throws StatusError if it cannot be known now
 */
export async function recheckStreams(opener: StreamCredential, stages: RecheckStages): Promise<void> {
  let unchanged: (stream: OpenStream) => Promise<boolean>;
  try {
    unchanged = await judgeOf(opener, stages);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // One that expired meanwhile is refused too, but does not end a connection into a pod.
    if (opener.expiresAt > stages.clock.now()) opener.end('refused');
    return;
  }
  for (const stream of opener.streams) {
    try {
      if (!(await unchanged(stream))) stream.end('changed');
    } catch (error) {
      if (!isRefusal(error)) throw error;
      stream.end('refused');
    }
  }
}

/** Asks about the credential once, and about each stream only what depends on its request. */
async function judgeOf(
  { credential, source, tenant }: StreamCredential,
  { authenticators, anonymousAccess, mode, roles }: RecheckStages,
): Promise<(stream: OpenStream) => Promise<boolean>> {
  if (credential === undefined) {
    return async ({ info }) => anonymousAccess(info.rawPath) !== undefined;
  }
  const identity = await runAuthenticators(authenticators, credential, { source, revalidates: true });
  if (mode.tenantOf(identity) !== tenant) return async () => false;
  const sameAs = (user: UserInfo, now: Identity): boolean => isSameUser(user, mode.userOf(now, tenant));
  if (roles === undefined || identity.assignmentsOf === undefined)
    return async ({ user }) => sameAs(user, identity);
  return async ({ user, info }) =>
    sameAs(user, await roles.inScope(identity, roleScopeOf(info, identity, tenant, mode)));
}

/** A new request would be refused for what its credential is, and not for what cannot be asked. */
function isRefusal(error: unknown): error is StatusError {
  return error instanceof StatusError && (error.http === 401 || error.http === 403);
}

function isSameUser(one: UserInfo, other: UserInfo): boolean {
  return one === other || JSON.stringify(ofUser(one)) === JSON.stringify(ofUser(other));
}

function ofUser({ username, uid, groups, extra }: UserInfo): unknown {
  return [username, uid, [...groups].sort(), Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1))];
}
