/**
 * The authenticator for JWTs of configured issuers. The `iss` claim decides before verification: a token of
 * an unconfigured issuer is passed on, a token of a configured issuer is decided here. Only bearer tokens
 * are read, since `X-Auth-Token` is Keystone's. RFC 7519; RFC 6750.
 */

import type { JSONWebKeySet } from 'jose';
import { digestOf } from '../../cache/credential-digest.ts';
import { StatusError, unauthorized } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import { createExpiringCache } from '../../limits/expiring-cache.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { Authenticator } from '../authenticator.ts';
import type { TokenCredential } from '../credential.ts';
import type { IssuerKeys } from '../oidc/oidc-issuer-keys.ts';
import type { JWTConfiguration } from './jwt-configuration.ts';
import { annotationsOf, identityOfClaims } from './jwt-mapping.ts';
import { type JWTParts, readJWT, stringMember } from './jwt-parser.ts';
import { createJWTVerifier, type VerifiedJWT, type VerifyJWT } from './jwt-verifier.ts';

/** Google issues tokens with and without the scheme in `iss`. */
const GOOGLE = 'https://accounts.google.com';

/** Verified tokens that are cached; each is some kilobytes large. */
const MAX_VERIFIED = 2_000;
/** Milliseconds for which they are cached. */
const MAX_AGE = 60_000;

export interface JWTAuthenticatorOptions {
  /** No two with the same `issuer.url`. */
  readonly issuers: readonly { readonly configuration: JWTConfiguration; readonly keys: IssuerKeys }[];
  readonly clock: Clock;
}

interface Issuer {
  readonly configuration: JWTConfiguration;
  readonly keys: IssuerKeys;
  readonly verify: VerifyJWT;
}

/**
 * The result of a verification. It is valid as long as the issuer's keys are the ones it was verified with.
 */
interface Verdict {
  readonly issuer: Issuer;
  readonly verified: VerifiedJWT;
  readonly keys: JSONWebKeySet;
  readonly kid: string | undefined;
}

export function createJWTAuthenticator(options: JWTAuthenticatorOptions): Authenticator {
  const { clock } = options;
  const verdicts = createExpiringCache<Verdict>({ maxEntries: MAX_VERIFIED, clock });
  const issuers = new Map<string, Issuer>();
  for (const { configuration, keys } of options.issuers) {
    const verify = createJWTVerifier(configuration, clock);
    issuers.set(configuration.issuer.url, { configuration, keys, verify });
  }

  const identityOf = memoizeByReference(identityOfVerdict);

  async function verify(credential: TokenCredential, parts: JWTParts, issuer: Issuer): Promise<Verdict> {
    const kid = stringMember(parts.header, 'kid');
    // An empty `kid` selects no key.
    const named = kid === '' ? undefined : kid;
    let keys = await issuer.keys.keys(named);
    let verified = await issuer.verify(credential.token, parts, keys);
    if (verified === undefined) {
      const refuted = keys;
      keys = await issuer.keys.keys(named, refuted);
      if (keys !== refuted) verified = await issuer.verify(credential.token, parts, keys);
      if (verified === undefined) throw unauthorized('the token cannot be verified with a key of the issuer');
    }
    const verdict = { issuer, verified, keys, kid };
    verdicts.set(digestOf(credential), verdict, Math.min(clock.now() + MAX_AGE, verified.expiresAt));
    return verdict;
  }

  return {
    name: 'jwt',
    takes: `JWTs of ${[...issuers.keys()].join(', ')}`,
    async authenticate(credential) {
      if (credential.kind !== 'bearer') return undefined;
      const known = verdicts.get(digestOf(credential));
      if (known !== undefined && (await known.issuer.keys.keys(known.kid)) === known.keys) {
        return identityOf(known);
      }
      const parts = readJWT(credential.token);
      const issuer = parts && issuers.get(issuerOf(parts));
      if (parts === undefined || issuer === undefined) return undefined;
      return identityOf(await verify(credential, parts, issuer));
    },
  };
}

/** The URL of the issuer that the token names; empty if it names none. */
function issuerOf({ payload }: JWTParts): string {
  const issuer = stringMember(payload, 'iss') ?? '';
  return issuer === 'accounts.google.com' ? GOOGLE : issuer;
}

function identityOfVerdict({ verified, issuer: { configuration } }: Verdict): Identity {
  try {
    return identityOfClaims(verified, configuration);
  } catch (refusal) {
    if (!(refusal instanceof StatusError)) throw refusal;
    throw refusal.annotated(annotationsOf(verified, configuration));
  }
}
