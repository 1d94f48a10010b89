/**
 * Tokens of service accounts as the two servers make them. A Secret's token of Arktos names its tenant in a
 * claim and has no end; one of the TokenRequest API is for an audience, ends, and in Arktos holds for the
 * system tenant alone. They are signed with chance: the server knows those it has made.
 */
import { randomBytes } from 'node:crypto';
import type { Flavour } from './kinds.ts';
import type { TokenUser } from './users.ts';

export interface ServiceAccountToken {
  readonly name: string;
  /** `default` where left out. */
  readonly namespace?: string;
  /** Arktos only; `system` where left out. */
  readonly tenant?: string;
  /** Whether the TokenRequest API made it; in Arktos false where left out. */
  readonly bound?: boolean;
  /** Of a bound token; the server's own where left out. */
  readonly audiences?: readonly string[];
  /** Of a bound token, in milliseconds since the epoch; an hour away where left out. */
  readonly expiresAt?: number;
}

/** What an API server takes tokens for that say nothing else. */
export const SERVER_AUDIENCE = 'https://kubernetes.default.svc.cluster.local';

const CLAIM = 'kubernetes.io/serviceaccount';

export function makeServiceAccountToken(
  account: ServiceAccountToken,
  flavour: Flavour,
): { readonly token: string; readonly user: TokenUser } {
  const { name, namespace = 'default', bound = flavour === 'kubernetes', tenant = 'system' } = account;
  const { audiences = [SERVER_AUDIENCE], expiresAt = Date.now() + 3_600_000 } = account;
  const username = `system:serviceaccount:${namespace}:${name}`;
  const uid = `uid-of-${namespace}-${name}`;
  const claims = bound
    ? {
        iss: SERVER_AUDIENCE,
        sub: username,
        aud: audiences,
        exp: Math.floor(expiresAt / 1_000),
        'kubernetes.io': { namespace, serviceaccount: { name, uid } },
      }
    : {
        iss: 'kubernetes/serviceaccount',
        sub: username,
        [`${CLAIM}/namespace`]: namespace,
        [`${CLAIM}/service-account.name`]: name,
        ...(flavour === 'arktos' && { [`${CLAIM}/tenant`]: tenant }),
      };
  return {
    token: `${encoded({ alg: 'RS256', kid: '' })}.${encoded(claims)}.${randomBytes(64).toString('base64url')}`,
    user: {
      username,
      uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
      tenant: bound ? 'system' : tenant,
      ...(bound && { audiences, expiresAt }),
    },
  };
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
