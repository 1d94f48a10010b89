/**
 * Maps verified claims to an identity: kube-apiserver's claim mappings, and Stonegate's own mapping to a
 * tenant. Pure. Claim names are literal members of the payload, so a dot in a name is a dot.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */

import { compileClaimsExpression } from '../../cel/cel.ts';
import { refusedName, StatusError, unauthorized } from '../../errors/status-error.ts';
import type { Extra, UserInfo } from '../../kubernetes/authentication-v1.ts';
import { AUTHENTICATED, CREDENTIAL_ID_KEY } from '../../kubernetes/reserved-names.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import { type QualifiedIdentity, VERIFIED_EMAIL } from '../../tenancy/identity.ts';
import { requirePrintableText, requireUnreservedName } from '../name-validation.ts';
import {
  quoted,
  requireCompleteGroups,
  requiredClaim,
  requireVerified,
  requireWholeCharacters,
  stringClaim,
  stringsClaim,
  UnusableClaims,
  unusable,
  usernameClaim,
} from './jwt-claims.ts';
import type { JWTConfiguration, JWTStrictness, JWTTenant } from './jwt-configuration.ts';
import { claimRule, stringReader, stringsReader, userRule } from './jwt-expressions.ts';
import { stringMember } from './jwt-parser.ts';
import type { VerifiedJWT } from './jwt-verifier.ts';

type ClaimMappings = JWTConfiguration['claimMappings'];
type Read<T> = (verified: VerifiedJWT) => T;

/**
 * @throws StatusError CredentialInvalid if a required claim is missing or has another value, or a validation
 *   rule is not true; IdentityUnusable, IdentityReserved, GroupsOverflow or TenantUnknown if the token is
 *   valid but gives no usable identity
 */
export function identityOfClaims(verified: VerifiedJWT, configuration: JWTConfiguration): QualifiedIdentity {
  const { claims, expiresAt } = verified;
  const { username, uid, groups, extra } = userOf(verified, configuration);
  const { iat } = claims;
  return {
    authenticator: 'jwt',
    subject: { kind: 'claim', name: username },
    tenantOrigin: { from: 'issuer', tenant: tenantOfClaims(claims, configuration.tenant) },
    uid,
    groups: [...new Set(groups)],
    extra,
    ...(typeof iat === 'number' && Number.isFinite(iat) && { signedInAt: iat * 1_000 }),
    expiresAt,
    auditAnnotations: { ...annotationsOf(verified, configuration), ...verifiedEmail(verified) },
  };
}

/** The claims that OIDC names so: https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims */
function verifiedEmail({ claims }: VerifiedJWT): Record<string, string> {
  const email = claims.email_verified === true ? stringMember(claims, 'email') : undefined;
  return email === undefined ? {} : { [VERIFIED_EMAIL]: email };
}

/** Audit annotations of a verified token, whether or not its claims give an identity. */
export function annotationsOf({ claims }: VerifiedJWT, { issuer }: JWTConfiguration): Record<string, string> {
  const jti = stringMember(claims, 'jti');
  return {
    'stonegate.dev/issuer': issuer.url,
    ...(jti === undefined ? {} : { 'stonegate.dev/token-id': jti }),
  };
}

/**
 * Unusable claims are a 401 for an issuer of kube-apiserver's own file format, else a 403 with the reason.
 */
function userOf(verified: VerifiedJWT, configuration: JWTConfiguration): UserInfo {
  try {
    return userReader(configuration)(verified);
  } catch (error) {
    if (!(error instanceof UnusableClaims)) throw error;
    throw configuration.asKubernetes ? unauthorized(error.message) : unusable(error.message);
  }
}

/** Memoized for each configuration, since compiling expressions is expensive. */
const userReader = memoizeByReference((configuration: JWTConfiguration): Read<UserInfo> => {
  const claimRules = configuration.claimValidationRules.map((rule) =>
    'claim' in rule ? requiredValue(rule.claim, rule.requiredValue, configuration.strict) : claimRule(rule),
  );
  const userRules = configuration.userValidationRules.map(userRule);
  const username = usernameReader(configuration);
  const uid = uidReader(configuration.claimMappings.uid);
  const groups = groupsReader(configuration);
  const extra = configuration.claimMappings.extra.map((mapping) => extraReader(mapping, configuration));
  return (verified) => {
    requireWholeCharacters(verified.claims);
    for (const require of claimRules) require(verified.claims);
    const user = {
      username: username(verified),
      uid: uid(verified),
      groups: groups(verified),
      extra: {
        ...Object.fromEntries(extra.flatMap((read) => Object.entries(read(verified)))),
        ...credentialID(verified),
      },
    };
    for (const require of userRules) require(user);
    return user;
  };
});

/**
 * The validation rules see the credential id too, as in kube-apiserver. A `jti` that is not a string is
 * ignored.
 */
function credentialID({ claims }: VerifiedJWT): Extra {
  const jti = stringMember(claims, 'jti');
  return jti === undefined || jti === ''
    ? {}
    : { [CREDENTIAL_ID_KEY]: [`JTI=${requirePrintableText(jti, 'claim "jti"')}`] };
}

function requiredValue(claim: string, value: string, strict: JWTStrictness): (claims: JSONObject) => void {
  return (claims) => {
    if (strict.verifiedEmail) requireVerified(claims, claim);
    if (textOrNothing(claims, claim) !== value) throw unauthorized(`required claim ${claim}`);
  };
}

function textOrNothing(claims: JSONObject, claim: string): string | undefined {
  try {
    return stringClaim(claims, claim);
  } catch (error) {
    if (error instanceof UnusableClaims) return undefined;
    throw error;
  }
}

function usernameReader({ claimMappings, strict, usernamePrefix = '' }: JWTConfiguration): Read<string> {
  const mapping = claimMappings.username;
  if ('claim' in mapping) {
    const { claim, prefix } = mapping;
    const what = claimNamed(claim);
    // A leading blank in the value would be hidden behind the prefix.
    return ({ claims }) =>
      unreserved(prefix + requirePrintableText(usernameClaim(claims, claim, strict), what), what);
  }
  const read = stringReader({ source: mapping.expression, what: 'the username' });
  return ({ claims }) => {
    const value = read(claims);
    if (value === '') throw new UnusableClaims('the expression for the username returns an empty text');
    return requirePrefix(unreserved(value, 'the username'), usernamePrefix);
  };
}

function uidReader(mapping: ClaimMappings['uid']): Read<string> {
  if (mapping === undefined) return () => '';
  const printable = (uid: string) => (uid === '' ? '' : requirePrintableText(uid, 'the uid'));
  if ('claim' in mapping) {
    const { claim } = mapping;
    return ({ claims }) => printable(requiredClaim(claims, claim));
  }
  const read = stringReader({ source: mapping.expression, what: 'the uid' });
  return ({ claims }) => printable(read(claims));
}

function groupsReader(configuration: JWTConfiguration): Read<readonly string[]> {
  const { claimMappings, strict, asKubernetes, groupsPrefix = '' } = configuration;
  const mapping = claimMappings.groups;
  if (mapping === undefined) return () => [];
  if ('claim' in mapping) {
    const { claim, prefix } = mapping;
    const what = claimNamed(claim);
    return ({ claims }) => {
      requireCompleteGroups(claims, claim, strict.completeGroups);
      if (strict.verifiedEmail) requireVerified(claims, claim);
      return stringsClaim(claims, claim).map((group) => {
        const name = prefix + requirePrintableText(group, what);
        return name === AUTHENTICATED ? name : unreserved(name, what);
      });
    };
  }
  const { expression: source } = mapping;
  const read = stringsReader({ source, what: 'groups', asKubernetes });
  const named = compileClaimsExpression(source).claims;
  return ({ claims }) => {
    if (strict.completeGroups) for (const claim of named) requireCompleteGroups(claims, claim, true);
    return read(claims).map((group) =>
      group === AUTHENTICATED ? group : requirePrefix(unreserved(group, 'a group'), groupsPrefix),
    );
  };
}

/** An expression must produce the declared prefix itself: none is added. */
function requirePrefix(name: string, prefix: string): string {
  if (name.startsWith(prefix) && name !== prefix) return name;
  throw refusedName(
    'IdentityReserved',
    `the expressions of this issuer may only return names that begin with ${quoted(prefix)}`,
    name,
  );
}

function unreserved(name: string, what: string): string {
  return requireUnreservedName(requirePrintableText(name, what), what);
}

function claimNamed(claim: string): string {
  return `claim ${quoted(claim)}`;
}

function extraReader(
  mapping: ClaimMappings['extra'][number],
  { asKubernetes }: JWTConfiguration,
): Read<Extra> {
  const { key } = mapping;
  const what = 'claim' in mapping ? claimNamed(mapping.claim) : `the extra ${quoted(key)}`;
  const read =
    'claim' in mapping
      ? (claims: JSONObject) => stringsClaim(claims, mapping.claim)
      : stringsReader({ source: mapping.valueExpression, what, asKubernetes });
  return ({ claims }) => {
    const values = read(claims).map((value) => requirePrintableText(value, what));
    return values.length === 0 ? {} : { [key]: values };
  };
}

const CLUSTER = new Set(['system', 'all']);

/**
 * The tenant of a JWT's user: fixed in the configuration, or chosen by a claim among those that the
 * configuration lists. `system` and `all` are only given by `tenant.map`, in which the operator writes both
 * sides.
 *
 * @throws StatusError TenantUnknown if the token chooses no tenant, or one that is not listed
 */
export function tenantOfClaims(claims: JSONObject, tenant: JWTTenant): string {
  if ('value' in tenant) return requireOrdinary(tenant.value);
  const chosen = choice(claims, tenant.claim);
  const claim = `the token's claim ${quoted(tenant.claim)}`;
  if (chosen === undefined || chosen === '') {
    throw unknown(
      `${claim}, which chooses the tenant, is missing: log in with an account of your organization`,
    );
  }
  if ('map' in tenant) {
    const mapped = Object.hasOwn(tenant.map, chosen) ? tenant.map[chosen] : undefined;
    if (mapped !== undefined) return mapped;
  } else if (tenant.allow.includes(chosen)) {
    return requireOrdinary(chosen);
  }
  throw unknown(
    `no tenant is configured for the value of ${claim}: ask the operator of this cluster to add it`,
  );
}

/** An unverified e-mail address must not choose a tenant. */
function choice(claims: JSONObject, claim: string): string | undefined {
  try {
    requireVerified(claims, claim);
    return stringClaim(claims, claim);
  } catch (error) {
    throw error instanceof UnusableClaims ? unusable(error.message) : error;
  }
}

function requireOrdinary(tenant: string): string {
  if (!CLUSTER.has(tenant)) return tenant;
  throw unknown(`the tenant "${tenant}" is assigned only by an entry of the issuer's tenant.map`);
}

function unknown(message: string): StatusError {
  return new StatusError('TenantUnknown', message);
}
