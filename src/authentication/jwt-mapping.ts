/**
 * Verified claims → identity, as the issuer's configuration says: kube-apiserver's claim mappings, and ours for the
 * tenant. Pure. Claim names are literal members of the payload, so a dot in one is a dot. Whatever would need
 * guessing is refused: rights that vanish silently are as bad as rights that appear.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */
import type { Extra, UserInfo } from '../api/authentication-v1.ts';
import type { JWTConfiguration } from '../api/config-v1alpha1.ts';
import { CREDENTIAL_ID_KEY, EXTRA_KEY, RESERVED_EXTRA_KEY } from '../api/extra-keys.ts';
import type { Identity } from '../api/identity.ts';
import { refusedName, StatusError, unauthorized } from '../errors/status-error.ts';
import { compileExpression } from '../lib/cel.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import { oncePer } from '../lib/once-per.ts';
import { requirePrintableText, requireUnreservedName } from './given-name.ts';
import {
  claimEquals,
  quoted,
  requirePrintable,
  requireUnreserved,
  stringClaim,
  stringsClaim,
  usernameClaim,
} from './jwt-claims.ts';
import { claimRule, stringOf, stringsOf, userRule } from './jwt-expressions.ts';
import { stringMember } from './jwt-parts.ts';
import { tenantOfClaims } from './jwt-tenant.ts';
import type { VerifiedJWT } from './jwt-verify.ts';

type ClaimMappings = JWTConfiguration['claimMappings'];
type Read<T> = (claims: JSONObject) => T;

const AUTHENTICATED = 'system:authenticated';

/**
 * @throws StatusError CredentialInvalid where a required claim is missing or has another value, or a validation rule is
 *   not true; IdentityUnusable, IdentityReserved, GroupsOverflow or TenantUnknown where the token is genuine but makes
 *   nobody Stonegate could vouch for
 */
export function identityOfClaims(verified: VerifiedJWT, configuration: JWTConfiguration): Identity {
  const { claims, expiresAt } = verified;
  const { username, uid, groups, extra } = userReader(configuration)(claims);
  const jti = stringMember(claims, 'jti');
  return {
    authenticator: 'jwt',
    subject: { kind: 'claim', name: username },
    tenantOrigin: { from: 'issuer', tenant: tenantOfClaims(claims, configuration.tenant) },
    uid,
    groups,
    extra: { ...extra, ...credentialID(jti) },
    expiresAt,
    auditAnnotations: annotationsOf(verified, configuration),
  };
}

/** Of a token whose issuer is proven, whether its claims make a user or not. */
export function annotationsOf({ claims }: VerifiedJWT, { issuer }: JWTConfiguration): Record<string, string> {
  const jti = stringMember(claims, 'jti');
  return {
    'stonegate.dev/issuer': issuer.url,
    ...(jti === undefined ? {} : { 'stonegate.dev/token-id': jti }),
  };
}

/** As kube-apiserver has it: a `jti` that is no text is none. */
function credentialID(jti: string | undefined): Extra {
  return jti === undefined || jti === ''
    ? {}
    : { [CREDENTIAL_ID_KEY]: [`JTI=${requirePrintable(jti, 'jti')}`] };
}

/** Made once for a configuration, since compiling is dear. */
const userReader = oncePer((configuration: JWTConfiguration): Read<UserInfo> => {
  const { claimMappings, usernamePrefix = '', groupsPrefix = '' } = configuration;
  const claimRules = configuration.claimValidationRules.map((rule) =>
    'claim' in rule ? requiredClaim(rule.claim, rule.requiredValue) : claimRule(rule),
  );
  const userRules = configuration.userValidationRules.map(userRule);
  const username = usernameReader(claimMappings.username, usernamePrefix);
  const uid = uidReader(claimMappings.uid);
  const groups = groupsReader(claimMappings.groups, groupsPrefix);
  const extra = claimMappings.extra.map(extraReader);
  return (claims) => {
    for (const require of claimRules) require(claims);
    const user = {
      username: username(claims),
      uid: uid(claims),
      groups: groups(claims),
      extra: Object.fromEntries(extra.flatMap((read) => Object.entries(read(claims)))),
    };
    for (const require of userRules) require(user);
    return user;
  };
});

function requiredClaim(claim: string, value: string): Read<void> {
  return (claims) => {
    if (!claimEquals(claims, claim, value)) throw unauthorized(`required claim ${claim}`);
  };
}

function usernameReader(mapping: ClaimMappings['username'], declared: string): Read<string> {
  if ('claim' in mapping) {
    const { claim, prefix } = mapping;
    return (claims) => {
      const value = requirePrintable(usernameClaim(claims, claim), claim);
      return requireUnreserved(requirePrintable(prefix + value, claim), claim);
    };
  }
  const expression = compileExpression(mapping.expression, 'claims');
  return (claims) => {
    const name = requirePrintableText(stringOf(expression, claims, 'the username'), 'the username');
    return requirePrefix(requireUnreservedName(name, 'the username'), declared);
  };
}

function uidReader(mapping: ClaimMappings['uid']): Read<string> {
  if (mapping === undefined) return () => '';
  if ('claim' in mapping) {
    const { claim } = mapping;
    return (claims) => {
      const uid = stringClaim(claims, claim);
      return uid === undefined ? '' : requirePrintable(uid, claim);
    };
  }
  const expression = compileExpression(mapping.expression, 'claims');
  return (claims) => {
    const uid = stringOf(expression, claims, 'the uid');
    return uid === '' ? '' : requirePrintableText(uid, 'the uid');
  };
}

function groupsReader(mapping: ClaimMappings['groups'], declared: string): Read<readonly string[]> {
  if (mapping === undefined) return () => [];
  if ('claim' in mapping) {
    const { claim, prefix } = mapping;
    return (claims) => {
      refuseOverflow(claims, claim);
      const groups = stringsClaim(claims, claim).map((group) => {
        const name = prefix + requirePrintable(group, claim);
        return name === AUTHENTICATED ? name : requireUnreserved(name, claim);
      });
      return [...new Set(groups)];
    };
  }
  const expression = compileExpression(mapping.expression, 'claims');
  return (claims) => {
    for (const claim of expression.claims) refuseOverflow(claims, claim);
    const groups = stringsOf(expression, claims, 'groups').map((given) => {
      const group = requirePrintableText(given, 'a group');
      if (group === AUTHENTICATED) return group;
      return requirePrefix(requireUnreservedName(group, 'a group'), declared);
    });
    return [...new Set(groups)];
  };
}

/** A name made by an expression has no prefix of ours before it: it brings the one that is declared. */
function requirePrefix(name: string, prefix: string): string {
  if (name.startsWith(prefix) && name !== prefix) return name;
  throw refusedName(
    'IdentityReserved',
    `the expressions of this issuer may only make names that begin with ${quoted(prefix)}`,
    name,
  );
}

/**
 * Entra ID leaves groups out of a token that would grow too large and says where they could be asked for instead.
 * Taken for "no groups", that would take rights away at random.
 * https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference#groups-overage-claim
 */
function refuseOverflow(claims: JSONObject, claim: string): void {
  const elsewhere = Object.hasOwn(claims, '_claim_names') ? claims._claim_names : undefined;
  const hint = Object.hasOwn(claims, 'hasgroups') ? claims.hasgroups : undefined;
  const distributed = isJSONObject(elsewhere) && Object.hasOwn(elsewhere, claim);
  if (!distributed && !(claim === 'groups' && (hint === true || hint === 'true'))) return;
  throw new StatusError(
    'GroupsOverflow',
    `your groups do not fit into the token, which only says where else to find them: ask the administrator of the issuer to send only groups assigned to the application, or application roles instead of ${quoted(claim)}`,
  );
}

function extraReader(mapping: ClaimMappings['extra'][number]): Read<Extra> {
  const { key } = mapping;
  const read = valuesReader(mapping);
  return (claims) => {
    if (!EXTRA_KEY.test(key) || RESERVED_EXTRA_KEY.test(key)) {
      throw new StatusError('IdentityReserved', `the extra key ${quoted(key)} may not come from a claim`);
    }
    const values = read(claims);
    return values.length === 0 ? {} : { [key]: values };
  };
}

function valuesReader(mapping: ClaimMappings['extra'][number]): Read<readonly string[]> {
  if ('claim' in mapping) {
    const { claim } = mapping;
    return (claims) => stringsClaim(claims, claim).map((value) => requirePrintable(value, claim));
  }
  const what = `the extra ${quoted(mapping.key)}`;
  const expression = compileExpression(mapping.valueExpression, 'claims');
  return (claims) => stringsOf(expression, claims, what).map((value) => requirePrintableText(value, what));
}
