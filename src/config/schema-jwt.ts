/**
 * `authentication.jwt[]`: the schema of kube-apiserver's AuthenticationConfiguration, so that a cluster's existing
 * file can be carried over entry by entry, with a tenant.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */
import { z } from 'zod';
import type { IssuerTenant, JWTConfiguration, JWTTenant } from '../api/config-v1alpha1.ts';
import { RESERVED_EXTRA_KEY } from '../api/reserved-names.ts';
import {
  duration,
  type FileField,
  formIssue,
  period,
  prefix,
  prefixOrNone,
  tenant,
  text,
  url,
} from './fields.ts';

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

const on = z.boolean().default(true);

const tenantFields = {
  value: tenant.exactOptional().describe('One tenant for everybody of this issuer.'),
  claim: text.exactOptional().describe('The claim that says it; with `map` or `allow`.'),
  map: z.record(text, tenant).exactOptional().describe("The claim's value → tenant; others are refused."),
  allow: z.array(tenant).min(1).exactOptional().describe("Values of the claim that are a tenant's name."),
};

type TenantFields = z.output<z.ZodObject<typeof tenantFields, z.core.$strict>>;

const TENANT_FORMS = '{ value }, { claim, map } or { claim, allow }';

function tenantIn({ value, claim, map, allow }: TenantFields): JWTTenant | undefined {
  if (value !== undefined) {
    return [claim, map, allow].every((other) => other === undefined) ? { value } : undefined;
  }
  if (claim === undefined) return undefined;
  if (map !== undefined) return allow === undefined ? { claim, map } : undefined;
  return allow === undefined ? undefined : { claim, allow };
}

const tenantSchema = z.strictObject(tenantFields).transform((fields, context): JWTTenant => {
  const found = tenantIn(fields);
  if (found !== undefined) return found;
  context.addIssue(formIssue(TENANT_FORMS, fields));
  return z.NEVER;
});

const namePrefixes = {
  usernamePrefix: prefix
    .exactOptional()
    .describe('What every name begins with that an expression makes; any other is refused.'),
  groupsPrefix: prefix.exactOptional().describe('The same for groups.'),
};

/** `authentication.tenants`: what kube-apiserver's file cannot say of an issuer. */
export const issuerTenantSchema = z
  .strictObject({ ...tenantFields, ...namePrefixes })
  .transform(({ usernamePrefix, groupsPrefix, ...fields }, context): IssuerTenant => {
    const tenant = tenantIn(fields);
    if (tenant !== undefined) {
      return {
        tenant,
        ...(usernamePrefix === undefined ? {} : { usernamePrefix }),
        ...(groupsPrefix === undefined ? {} : { groupsPrefix }),
      };
    }
    context.addIssue(formIssue(TENANT_FORMS, fields));
    return z.NEVER;
  });

/** What Stonegate refuses beyond kube-apiserver, each unless it is switched off. */
const strict = z
  .strictObject({
    verifiedEmail: on.describe('Refuse `email` as a name unless `email_verified` is true.'),
    authorizedParty: on.describe('Refuse a token for several audiences whose `azp` is none of ours.'),
    tokenTypes: on.describe('Refuse a `typ` other than `JWT` and `at+jwt`, and logout tokens (`events`).'),
    uniqueMembers: on.describe('Refuse a token with a member that is there twice.'),
    exactNumbers: on.describe('Refuse a number beyond 2^53 in a claim that an expression reads.'),
    completeGroups: on.describe('Refuse a token that says its groups are elsewhere, also if it has some.'),
    ownKeys: on.describe(
      'Ignore keys that the key set gives to another issuer (`issuer`, as Entra ID has it).',
    ),
    namedUsers: on.describe('Refuse a user or a group that is nothing but its prefix.'),
    wholeCharacters: on.describe('Refuse a token with half a character (a lone surrogate) in a claim.'),
  })
  .prefault({})
  .describe('What is refused that kube-apiserver would accept.');

/** How tokens are verified: Stonegate's own fields, all with defaults. */
const verification = z.strictObject({
  algorithms: z
    .array(z.enum(ALGORITHMS))
    .min(1)
    .default([...ALGORITHMS])
    .describe('What tokens may be signed with; asymmetric only.'),
  clockTolerance: duration
    .prefault('5s')
    .describe("How far the issuer's clock may be ahead of ours: for `nbf`, since `exp` is exact."),
  keysMaxAge: period.prefault('1h').describe('After which the keys are fetched anew.'),
  keysRefreshInterval: period
    .prefault('10s')
    .describe('At most one fetch in this time for key ids nobody has seen.'),
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
  const { algorithms, clockTolerance, keysMaxAge, keysRefreshInterval } = verification.shape;
  return z
    .strictObject({
      issuer: issuerSchema(file).describe('Who signs the tokens.'),
      algorithms,
      claimValidationRules,
      claimMappings: claimMappingsSchema.describe('From claims to a Kubernetes user.'),
      userValidationRules,
      ...namePrefixes,
      tenant: tenantSchema.describe('The tenant: fixed, or from a claim by a map or an allow-list.'),
      strict,
      clockTolerance,
      keysMaxAge,
      keysRefreshInterval,
    })
    .transform((issuer) => ({ ...issuer, asKubernetes: false }));
}

/** What of an issuer kube-apiserver's file does not say: it accepts every algorithm, and is as strict as its server. */
export const KUBERNETES_VERIFICATION = {
  ...verification.parse({}),
  algorithms: ALGORITHMS.filter((algorithm) => algorithm !== 'EdDSA'),
  // As its library has it.
  clockTolerance: 60_000,
  asKubernetes: true,
  strict: {
    verifiedEmail: false,
    authorizedParty: false,
    tokenTypes: false,
    uniqueMembers: false,
    exactNumbers: false,
    completeGroups: false,
    ownKeys: false,
    namedUsers: false,
    wholeCharacters: false,
  },
};

// FROM src/config/schema-claims.ts
/*!
 * From claims to a user, as `authentication.jwt[]` says it: by claim, or by CEL expression.
 * https://kubernetes.io/docs/reference/config-api/apiserver-config.v1/
 */

type ClaimMappings = JWTConfiguration['claimMappings'];
type ClaimRule = JWTConfiguration['claimValidationRules'][number];

const expression = z
  .string()
  .refine((source) => source.trim() !== '', { error: 'a CEL expression' })
  .describe('CEL, about `claims`.');

/** Domain-prefixed, and lower case: the API server lower-cases what it gets in a header. */
const extraKey = z
  .string()
  .regex(/^[a-z0-9.-]+\.[a-z0-9.-]+\/[a-z0-9/._-]+$/, {
    error: 'a lower-case, domain-prefixed key such as example.com/department',
  })
  .refine((key) => !RESERVED_EXTRA_KEY.test(key), {
    error: 'a key of a domain of your own: kubernetes.io, k8s.io and stonegate.dev are reserved',
  })
  .describe('Such as `example.com/department`.');

const nameSchema = z
  .strictObject({
    claim: text.exactOptional().describe('A claim at the top level of the token; with `prefix`.'),
    prefix: prefixOrNone
      .exactOptional()
      .describe(
        "Put before the claim's value. `-` means none, as with kube-apiserver's flag; so does an empty one.",
      ),
    expression: expression.exactOptional(),
  })
  .transform(({ claim, prefix, expression }, context): ClaimMappings['username'] => {
    if (claim !== undefined && prefix !== undefined && expression === undefined) return { claim, prefix };
    if (claim === undefined && prefix === undefined && expression !== undefined) return { expression };
    const forms = '{ claim, prefix }, where the prefix may be "", or { expression }';
    context.addIssue(formIssue(forms, { claim, prefix, expression }));
    return z.NEVER;
  });

const uidSchema = z
  .strictObject({
    claim: text.exactOptional().describe('A claim that never changes, such as `sub`.'),
    expression: expression.exactOptional(),
  })
  .transform(({ claim, expression }, context): NonNullable<ClaimMappings['uid']> => {
    if (claim !== undefined && expression === undefined) return { claim };
    if (expression !== undefined && claim === undefined) return { expression };
    context.addIssue(formIssue('{ claim } or { expression }', { claim, expression }));
    return z.NEVER;
  });

const extraSchema = z
  .strictObject({
    key: extraKey,
    claim: text.exactOptional().describe('A string or a list of strings.'),
    valueExpression: expression.exactOptional(),
  })
  .transform(({ key, claim, valueExpression }, context): ClaimMappings['extra'][number] => {
    if (claim !== undefined && valueExpression === undefined) return { key, claim };
    if (valueExpression !== undefined && claim === undefined) return { key, valueExpression };
    context.addIssue(
      formIssue('{ key, claim } or { key, valueExpression }', { key, claim, valueExpression }),
    );
    return z.NEVER;
  });

const claimMappingsSchema = z.strictObject({
  username: nameSchema.describe("The user's name. `email` counts only if `email_verified` says so."),
  groups: nameSchema.exactOptional().describe('A string or a list of strings.'),
  uid: uidSchema.exactOptional().describe('Sent as `Impersonate-Uid`.'),
  extra: z.array(extraSchema).default([]).describe('Further claims, sent as `Impersonate-Extra-…`.'),
});

const message = z.string().exactOptional().describe('What the log says where the expression is not true.');

const claimValidationRules = z
  .array(
    z
      .strictObject({
        claim: text.exactOptional().describe('Its name; with `requiredValue`.'),
        requiredValue: z.string().exactOptional().describe('A string; compared exactly.'),
        expression: expression.exactOptional(),
        message,
      })
      .transform(({ claim, requiredValue, expression, message }, context): ClaimRule => {
        const plain = expression === undefined && message === undefined;
        if (claim !== undefined && requiredValue !== undefined && plain) return { claim, requiredValue };
        if (expression !== undefined && claim === undefined && requiredValue === undefined) {
          return { expression, ...(message === undefined ? {} : { message }) };
        }
        const forms = '{ claim, requiredValue } or { expression, message }';
        context.addIssue(formIssue(forms, { claim, requiredValue, expression, message }));
        return z.NEVER;
      }),
  )
  .default([])
  .describe('Claims a token must have, with exactly this value, or expressions that must be true.');

const userValidationRules = z
  .array(
    z.strictObject({
      expression: expression.describe('CEL, about `user`: `username`, `uid`, `groups`, `extra`.'),
      message,
    }),
  )
  .default([])
  .describe('Expressions about the user these claims make that must be true.');
