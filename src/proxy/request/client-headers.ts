/**
 * Selects the client's headers that are forwarded. Every field by which a client could name itself, or
 * remove a field of Stonegate's, is dropped; names are compared in lower case with `_` equal to `-`, since
 * servers may treat them as equal. Impersonation headers that `act-as.ts` has not handled refuse the
 * request: without them `kubectl --as reader delete` would run with the caller's full rights. RFC 9110
 * §7.6.1 (hop-by-hop); Kubernetes user impersonation; OpenStack keystonemiddleware auth_token.
 */

import { StatusError } from '../../errors/status-error.ts';
import { withoutTokenSubprotocol } from '../../identity/credential.ts';
import { type HeaderField, type HeaderList, headerTokens, headerValue } from '../../lib/header-list.ts';
import { memoize } from '../../lib/memoize.ts';

const DROPPED: ReadonlySet<string> = new Set([
  // Framing and hop-by-hop: each hop makes its own.
  'connection',
  'proxy-connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'content-length',
  'upgrade',
  'http2-settings',
  'proxy-authenticate',
  'proxy-authorization',
  'expect',
  'host',
  // Claims about the client's identity or address.
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'client-ip',
  'front-end-https',
  // A browser's cookies for our origin: one set by a workload behind a `proxy` subresource would be sent to
  // all other workloads.
  'cookie',
  'cookie2',
  'x-rewrite-url',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  // Ours: the API server logs under the same audit ID.
  'audit-id',
  // OpenStack's identity fields (keystonemiddleware); the rest by their prefixes.
  'x-subject-token',
  'x-storage-token',
  'x-identity-status',
  'x-is-admin-project',
  'x-user',
  'x-tenant',
  'x-key-manager',
]);

const IDENTITY_PREFIXES: readonly string[] = [
  'x-remote-',
  'x-original-',
  'x-forwarded-',
  'x-auth-',
  'x-role',
  'x-ssl-client-',
  'x-client-cert',
  'x-user-',
  'x-project-',
  'x-domain-',
  'x-tenant-',
  'x-service-',
  'x-system-',
  'x-openstack-',
  'openstack-',
  'x-stonegate-',
];

/** A field's name as the rules compare it. */
export function canonicalName(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

/** What the rules say of a field by its name alone. */
export interface FieldRule {
  readonly canonical: string;
  readonly impersonates: boolean;
  readonly identity: boolean;
  /** Never travels on, whatever it holds. */
  readonly dropped: boolean;
}

/** Memoized, since a field's name is checked several times for each request, and there are few names. */
export const fieldRule = memoize((name: string): FieldRule => {
  const canonical = canonicalName(name);
  const identity = isIdentityField(canonical);
  return {
    canonical,
    impersonates: canonical.startsWith('impersonate'),
    identity,
    dropped: identity || DROPPED.has(canonical),
  };
});

/** Whether a field of this name may never come from a client, nor stand on a request beside ours. */
export function isIdentityField(canonical: string): boolean {
  return (
    canonical.startsWith('impersonate') ||
    canonical === 'authorization' ||
    canonical === 'forwarded' ||
    IDENTITY_PREFIXES.some((prefix) => canonical.startsWith(prefix))
  );
}

/**
 * @param impersonationHandled true if the impersonation headers were read, allowed and applied
 * @throws StatusError ImpersonationForbidden if there are such headers and they were not
 */
export function cleanClientHeaders(
  headers: HeaderList,
  { impersonationHandled }: { readonly impersonationHandled: boolean } = { impersonationHandled: false },
): HeaderField[] {
  const named = namedByConnection(headers);
  const forwarded: HeaderField[] = [];
  for (const field of headers) {
    const [name, value] = field;
    const { canonical, impersonates, dropped } = fieldRule(name);
    if (!impersonationHandled && impersonates) {
      throw new StatusError(
        'ImpersonationForbidden',
        `impersonation is refused: the request carries the header ${JSON.stringify(name.slice(0, 64))}`,
      );
    }
    if (dropped || named?.has(canonical)) continue;
    if (canonical !== 'sec-websocket-protocol') forwarded.push(field);
    else pushUnlessEmpty(forwarded, name, withoutTokenSubprotocol(value));
  }
  return forwarded;
}

/**
 * @returns undefined without a Connection field, which HTTP/2 does not have and HTTP/1.1 clients rarely send
 */
function namedByConnection(headers: HeaderList): ReadonlySet<string> | undefined {
  if (headerValue(headers, 'connection') === undefined) return undefined;
  return new Set(headerTokens(headers, 'connection').map(canonicalName));
}

function pushUnlessEmpty(list: HeaderField[], name: string, value: string): void {
  if (value !== '') list.push([name, value]);
}
