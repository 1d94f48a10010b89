/**
 * Tokens of service accounts as the two servers issue them. In Arktos, a token from a Secret names its tenant
 * in a claim and does not expire; a token of the TokenRequest API has an audience, expires, and is valid only
 * for the system tenant. The signature is random: the server knows the tokens that it has issued.
 */
import { randomBytes } from 'node:crypto';
import type { Flavour } from './kinds.ts';
import type { TokenUser } from './users.ts';

export interface ServiceAccountToken {
  readonly name: string;
  /** By default `default`. */
  readonly namespace?: string;
  /** Only in Arktos; by default `system`. */
  readonly tenant?: string;
  /** Whether the TokenRequest API issued it; in Arktos false by default. */
  readonly bound?: boolean;
  /** The audiences of a bound token; by default the server's own. */
  readonly audiences?: readonly string[];
  /** The end of a bound token, in milliseconds since the epoch; by default in an hour. */
  readonly expiresAt?: number;
}

/** The audience of a token that names none. */
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

function encoded(part: object) {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
