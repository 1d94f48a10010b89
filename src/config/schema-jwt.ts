/**
 * `authentication.jwt[]`: the schema of kube-apiserver's AuthenticationConfiguration, so that a cluster's existing
 * file can be carried over, without CEL expressions and with a tenant.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */
import { z } from 'zod';
import type { JWTTenant } from '../api/config-v1alpha1.ts';
import { duration, period, prefix, tenant, text, url } from './fields.ts';
import type { FileField } from './schema-secret.ts';

/** Asymmetric only: a shared secret would make everybody who can verify able to sign. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;

const prefixedClaim = z.strictObject({
  claim: text.describe('A claim at the top level of the token.'),
  prefix: prefix
    .transform((given) => (given === '-' ? '' : given))
    .describe("Put before the claim's value. `-` means none, as with kube-apiserver's flag."),
});

/** Domain-prefixed, and lower case: the API server lower-cases what it gets in a header. */
const extraKey = z
  .string()
  .regex(/^[a-z0-9.-]+\.[a-z0-9.-]+\/[a-z0-9/._-]+$/, {
    error: 'a lower-case, domain-prefixed key such as example.com/department',
  })
  .refine((key) => !/^([^/]*\.)?(kubernetes\.io|k8s\.io|stonegate\.dev)\//.test(key), {
    error: 'a key of a domain of your own: kubernetes.io, k8s.io and stonegate.dev are reserved',
  });

const tenantSchema = z
  .strictObject({
    value: tenant.exactOptional().describe('One tenant for everybody of this issuer.'),
    claim: text.exactOptional().describe('The claim that says it; with `map` or `allow`.'),
    map: z.record(text, tenant).exactOptional().describe("The claim's value → tenant; others are refused."),
    allow: z.array(tenant).min(1).exactOptional().describe("Values of the claim that are a tenant's name."),
  })
  .transform(({ value, claim, map, allow }, context): JWTTenant => {
    if (value !== undefined && claim === undefined && map === undefined && allow === undefined) {
      return { value };
    }
    if (value === undefined && claim !== undefined) {
      if (map !== undefined && allow === undefined) return { claim, map };
      if (allow !== undefined && map === undefined) return { claim, allow };
    }
    context.addIssue({ code: 'custom', message: '{ value }, { claim, map } or { claim, allow }' });
    return z.NEVER;
  });

function issuerSchema(file: FileField) {
  return z
    .strictObject({
      url: url({ what: "the issuer's URL, such as https://login.example.com", path: /^/ }).describe(
        'Exactly as in the `iss` claim.',
      ),
      discoveryURL: url({ what: 'the URL of its discovery document', path: /^/ })
        .exactOptional()
        .describe('Where its discovery document is, if not under the URL.'),
      audiences: z.array(text).min(1).describe('The token must be meant for one of them.'),
      audienceMatchPolicy: z
        .literal('MatchAny')
        .exactOptional()
        .describe('Accepted for the sake of kube-apiserver’s files; it is always so.'),
      caFile: file.exactOptional().describe("The CA of the issuer's certificate; else the system's CAs."),
      certificateAuthority: z.string().min(1).exactOptional().describe('The same as PEM text.'),
    })
    .transform(({ audienceMatchPolicy: _always, ...issuer }) => issuer);
}

export function jwtSchema(file: FileField) {
  const claimMappings = z.strictObject({
    username: prefixedClaim.describe("The user's name. `email` counts only if `email_verified` says so."),
    groups: prefixedClaim.exactOptional().describe('A string or a list of strings.'),
    uid: z
      .strictObject({ claim: text.describe('A claim that never changes, such as `sub`.') })
      .exactOptional()
      .describe('Sent as `Impersonate-Uid`.'),
    extra: z
      .array(
        z.strictObject({
          key: extraKey.describe('Such as `example.com/department`.'),
          claim: text.describe('A string or a list of strings.'),
        }),
      )
      .default([])
      .describe('Further claims, sent as `Impersonate-Extra-…`.'),
  });
  return z.strictObject({
    issuer: issuerSchema(file).describe('Who signs the tokens.'),
    algorithms: z
      .array(z.enum(ALGORITHMS))
      .min(1)
      .default([...ALGORITHMS])
      .describe('What tokens may be signed with; asymmetric only.'),
    claimValidationRules: z
      .array(
        z.strictObject({
          claim: text.describe('Its name.'),
          requiredValue: z.string().describe('A string; compared exactly.'),
        }),
      )
      .default([])
      .describe('Claims a token must have, with exactly this value.'),
    claimMappings: claimMappings.describe('From claims to a Kubernetes user.'),
    tenant: tenantSchema.describe('The tenant: fixed, or from a claim by a map or an allow-list.'),
    clockTolerance: duration
      .prefault('5s')
      .describe("How far the issuer's clock may be ahead of ours: for `nbf`, since `exp` is exact."),
    keysMaxAge: period.prefault('1h').describe('After which the keys are fetched anew.'),
    keysRefreshInterval: period
      .prefault('10s')
      .describe('At most one fetch in this time for key ids nobody has seen.'),
  });
}
