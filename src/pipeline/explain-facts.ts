/**
 * What was found out on the way, as data: who it is, and what would be sent. Header values are shown of the identity and
 * of what Stonegate writes itself, since any other may hold a secret.
 */

import type { Identity } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import type { Explanation } from '../api/stonegate-v1alpha1.ts';
import { timestamp } from '../lib/timestamp.ts';
import { goesAsPerson } from './explain-delivery.ts';
import type { RequestRecord } from './ports.ts';
import type { Outgoing } from './request-state.ts';

type Status = Explanation['status'];
type Told = (text: string) => string;

/** As far as the stages came. */
export function factsOf(
  { info, identity, tenant, user, actsAs }: RequestRecord,
  told: Told,
): Pick<Status, 'requestInfo' | 'identity' | 'tenant' | 'user' | 'impersonator'> {
  return {
    ...(info && { requestInfo: requestFacts(info, told) }),
    ...(identity && { identity: identityFacts(identity) }),
    ...(tenant && { tenant }),
    ...(user && { user: actsAs ?? user }),
    ...(actsAs && user && { impersonator: user }),
  };
}

/** What the API server would be sent; of what Stonegate answers itself, where it asks. */
export function sentOf({ route, headers }: Outgoing, told: Told): Pick<Status, 'upstreamPath' | 'headers'> {
  if (route.kind === 'own-api') return {};
  if (route.kind === 'self-review' && route.review === 'subject') return {};
  const query = route.query === '' ? '' : `?${told(route.query)}`;
  const upstreamPath = `${told(route.path)}${query}`;
  if (!goesAsPerson(route)) return { upstreamPath };
  return { upstreamPath, headers: headers.map(([name, value]) => shownHeader(name, value)) };
}

function requestFacts(info: RequestInfo, told: Told): Readonly<Record<string, string | boolean>> {
  const { isResourceRequest, verb } = info;
  if (!isResourceRequest) return { isResourceRequest, verb, path: told(info.rawPath) };
  const { apiGroup, apiVersion, tenant, namespace, resource, subresource, name, longRunning } = info;
  const texts = { verb, apiGroup, apiVersion, tenant, namespace, resource, subresource, name };
  return {
    isResourceRequest,
    ...Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, told(text)])),
    ...(longRunning !== undefined && { longRunning }),
  };
}

function identityFacts(identity: Identity): NonNullable<Status['identity']> {
  const { authenticator, uid, groups, scope, expiresAt, auditAnnotations } = identity;
  return {
    authenticator,
    uid,
    groups,
    ...(scope && { scope }),
    expirationTimestamp: timestamp(expiresAt),
    facts: auditAnnotations,
  };
}

/** Never the client's values: `client-headers.ts` takes those away. */
const OURS: ReadonlySet<string> = new Set(['audit-id', 'x-forwarded-for']);

function shownHeader(name: string, value: string): { name: string; value?: string } {
  const lower = name.toLowerCase();
  if (!OURS.has(lower) && !lower.startsWith('impersonate-')) return { name };
  // Header values are bytes; the identity's are UTF-8.
  return { name, value: Buffer.from(value, 'latin1').toString('utf8') };
}
