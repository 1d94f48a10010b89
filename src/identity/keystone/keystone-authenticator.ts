/**
 * The authenticator for Keystone tokens, sent as a bearer token or as `X-Auth-Token`.
 */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import {
  ANY_PROJECT_TAG,
  auditChainTag,
  auditTag,
  domainTag,
  EVERYTHING_TAG,
  projectTag,
  trustTag,
  userTag,
} from '../../cache/drop-tags.ts';
import { unauthorized } from '../../errors/status-error.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import { type Codec, jsonCodec } from '../../lib/parse-json.ts';
import {
  FERNET_START,
  type KeystoneToken,
  keystoneTokenSchema,
  type RevocationEvent,
} from '../../tenancy/keystone-v3.ts';
import type { KeystoneConfiguration } from '../authentication-configuration.ts';
import type { Authenticator } from '../authenticator.ts';
import type { TokenCredential } from '../credential.ts';
import { createTokenValidation, type TokenValidationOptions } from '../token-validation.ts';
import type { KeystoneClient } from './keystone.ts';
import { identityOf } from './keystone-identity.ts';

export interface KeystoneAuthenticatorOptions
  extends Pick<TokenValidationOptions<KeystoneToken>, 'cache' | 'gate' | 'clock' | 'tagsOf'> {
  readonly client: Pick<KeystoneClient, 'validate'>;
  readonly tokenProvider: KeystoneConfiguration['tokenProvider'];
}

/**
 * The authenticator throws StatusError CredentialInvalid for a token that Keystone refuses,
 * KeystoneUnavailable if Keystone cannot be reached, CredentialRateExceeded from the gate, IdentityUnusable
 * for unusable names.
 */
export function createKeystoneAuthenticator(options: KeystoneAuthenticatorOptions): Authenticator {
  const { client, tokenProvider } = options;
  const identityOfToken = createTokenValidation({
    ...options,
    backend: 'Keystone',
    validate: client.validate,
    identityOf,
  });
  /** Memoized: a connection sends the same credential object with every request. */
  const kindOf = memoizeByReference((credential: TokenCredential) =>
    classifyCredential(credential, tokenProvider),
  );

  return {
    name: 'keystone',
    takes: tokenProvider === 'jws' ? 'Keystone tokens, Fernet and JWS' : 'Keystone tokens, Fernet',
    authenticate(credential, context) {
      if (credential.kind !== 'bearer' && credential.kind !== 'x-auth-token') return undefined;
      switch (kindOf(credential)) {
        case 'foreign':
          return undefined;
        case 'refused':
          throw unauthorized('the X-Auth-Token is a JWT that this Keystone did not issue');
        case 'keystone':
          return identityOfToken(credential, context);
      }
    },
  };
}

const JWT = /^[^.]+\.[^.]+\.[^.]*$/;

/**
 * Which authenticator decides on a token. Fernet tokens start with `gAAAAA`. A token of Keystone's JWS
 * provider is recognized only if the configuration names that provider, and if it has Keystone's claims and
 * no `iss`. So a service account token or an ID token is never sent to Keystone.
 * https://docs.openstack.org/keystone/latest/admin/tokens-overview.html; RFC 7519 §4.1.1
 *
 * @returns `keystone`: Keystone validates it; `refused`: sent as Keystone's, but not of a kind that it
 *   issues; `foreign`: another authenticator decides
 */
function classifyCredential(
  { kind, token }: TokenCredential,
  tokenProvider: KeystoneConfiguration['tokenProvider'],
): 'keystone' | 'refused' | 'foreign' {
  if (token.startsWith(FERNET_START)) return 'keystone';
  if (JWT.test(token)) {
    if (tokenProvider === 'jws' && isKeystoneJWS(token)) return 'keystone';
    return kind === 'x-auth-token' ? 'refused' : 'foreign';
  }
  return kind === 'x-auth-token' ? 'keystone' : 'foreign';
}

function isKeystoneJWS(token: string): boolean {
  try {
    const claims = decodeJwt(token);
    return (
      decodeProtectedHeader(token).alg === 'ES256' &&
      !Object.hasOwn(claims, 'iss') &&
      Array.isArray(claims.openstack_methods) &&
      Array.isArray(claims.openstack_audit_ids)
    );
  } catch {
    // It is no JWT, so no Keystone token either.
    return false;
  }
}

/**
 * The stored form of a validated token. Another version of Stonegate may have written an entry, so a value
 * of any other shape counts as not found. Another form needs another name.
 */
export const keystoneTokenCodec: Codec<KeystoneToken> = jsonCodec('keystone', keystoneTokenSchema);

/** The tags of a token's entry. */
export function tagsOfToken({ user, scope, auditIDs, delegation }: KeystoneToken): string[] {
  const [own = ''] = auditIDs;
  const tags = [
    EVERYTHING_TAG,
    auditTag(own),
    auditChainTag(auditIDs.at(-1) ?? own),
    userTag(user.id),
    domainTag(user.domain.id),
  ];
  if (scope.kind === 'project') tags.push(projectTag(scope.project.id), domainTag(scope.project.domain.id));
  if (scope.kind === 'domain') tags.push(domainTag(scope.domain.id));
  // Under an impersonating trust the user is the trustor, but the trustee's password may have leaked.
  if (delegation?.kind === 'trust') tags.push(trustTag(delegation.id), userTag(delegation.trusteeUserID));
  return [...new Set(tags)];
}

/**
 * The tags that a revocation event drops. An event applies to tokens that match all of its ids, so one id,
 * the narrowest, is enough. Dropping an entry only means that Keystone validates the token again: an event
 * with no known id drops everything.
 */
export function tagsOfEvent(event: RevocationEvent): string[] {
  const { auditID, auditChainID, trustID, userID, projectID, domainID } = event;
  if (auditID !== undefined) return [auditTag(auditID)];
  if (auditChainID !== undefined) return [auditChainTag(auditChainID)];
  if (trustID !== undefined) return [trustTag(trustID)];
  if (userID !== undefined) return [userTag(userID)];
  if (projectID !== undefined) return [projectTag(projectID), ANY_PROJECT_TAG];
  if (domainID !== undefined) return [domainTag(domainID)];
  return [EVERYTHING_TAG];
}
