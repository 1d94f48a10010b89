/**
 * Verified claims → identity, as the issuer's configuration says: kube-apiserver's claim mappings, and ours for the
 * tenant. Pure. Claim names are literal members of the payload, so a dot in one is a dot. Whatever would need
 * guessing is refused: rights that vanish silently are as bad as rights that appear.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */
import type { Extra } from '../api/authentication-v1.ts';
import type { JWTConfiguration } from '../api/config-v1alpha1.ts';
import type { Identity } from '../api/identity.ts';
import { StatusError, unauthorized } from '../errors/status-error.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import {
  claimEquals,
  quoted,
  requirePrintable,
  requireUnreserved,
  stringClaim,
  stringsClaim,
  usernameClaim,
} from './jwt-claims.ts';
import { stringMember } from './jwt-parts.ts';
import { tenantOfClaims } from './jwt-tenant.ts';
import type { VerifiedJWT } from './jwt-verify.ts';

type ClaimMappings = JWTConfiguration['claimMappings'];

/**
 * @throws StatusError CredentialInvalid where a required claim is missing or has another value; IdentityUnusable,
 *   IdentityReserved, GroupsOverflow or TenantUnknown where the token is genuine but makes nobody Stonegate could
 *   vouch for
 */
export function identityOfClaims(verified: VerifiedJWT, configuration: JWTConfiguration): Identity {
  const { claims, expiresAt } = verified;
  const { claimMappings, claimValidationRules, issuer, tenant } = configuration;
  for (const rule of claimValidationRules) {
    if (!claimEquals(claims, rule.claim, rule.requiredValue))
      throw unauthorized(`required claim ${rule.claim}`);
  }
  const jti = stringMember(claims, 'jti');
  return {
    authenticator: 'jwt',
    subject: { kind: 'claim', name: nameOf(claims, claimMappings.username) },
    tenantOrigin: { from: 'issuer', tenant: tenantOfClaims(claims, tenant) },
    uid: uidOf(claims, claimMappings.uid),
    groups: groupsOf(claims, claimMappings.groups),
    extra: extraOf(claims, claimMappings.extra),
    expiresAt,
    auditAnnotations: {
      'stonegate.dev/issuer': issuer.url,
      ...(jti === undefined ? {} : { 'stonegate.dev/token-id': jti }),
    },
  };
}

function nameOf(claims: JSONObject, { claim, prefix }: ClaimMappings['username']): string {
  const value = requirePrintable(usernameClaim(claims, claim), claim);
  return requireUnreserved(requirePrintable(prefix + value, claim), claim);
}

function uidOf(claims: JSONObject, mapping: ClaimMappings['uid']): string {
  if (mapping === undefined) return '';
  const uid = stringClaim(claims, mapping.claim);
  return uid === undefined ? '' : requirePrintable(uid, mapping.claim);
}

function groupsOf(claims: JSONObject, mapping: ClaimMappings['groups']): readonly string[] {
  if (mapping === undefined) return [];
  const { claim, prefix } = mapping;
  refuseOverflow(claims, claim);
  const groups = stringsClaim(claims, claim).map((group) => {
    const name = prefix + requirePrintable(group, claim);
    return name === 'system:authenticated' ? name : requireUnreserved(name, claim);
  });
  return [...new Set(groups)];
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

const EXTRA_KEY = /^[a-z0-9/._-]+$/;
const RESERVED_EXTRA = /stonegate\.dev|(?:^|\.)(?:kubernetes|k8s)\.io(?:\/|$)/;

function extraOf(claims: JSONObject, mappings: ClaimMappings['extra']): Extra {
  const extra = new Map<string, readonly string[]>();
  for (const { key, claim } of mappings) {
    if (!EXTRA_KEY.test(key) || RESERVED_EXTRA.test(key)) {
      throw new StatusError('IdentityReserved', `the extra key ${quoted(key)} may not come from a claim`);
    }
    const values = stringsClaim(claims, claim);
    if (values.length > 0)
      extra.set(
        key,
        values.map((value) => requirePrintable(value, claim)),
      );
  }
  return Object.fromEntries(extra);
}
