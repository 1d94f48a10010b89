/**
 * The schema of `authentication.jwt[]`: kube-apiserver's AuthenticationConfiguration with a tenant, so that
 * an existing file can be copied entry by entry.
 * https://kubernetes.io/docs/reference/config-api/apiserver-config.v1/
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

/** Asymmetric only: with a shared secret every verifier could sign tokens. */
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
  value: tenant.exactOptional().describe('One tenant for all users of this issuer.'),
  claim: text.exactOptional().describe('The claim that names the tenant; with `map` or `allow`.'),
  map: z
    .record(text, tenant)
    .exactOptional()
    .describe('Value of the claim → tenant; other values are refused.'),
  allow: z
    .array(tenant)
    .min(1)
    .exactOptional()
    .describe('Values of the claim that are accepted as tenant names.'),
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
    .describe('The prefix that every user name made by an expression must have. Other names are refused.'),
  groupsPrefix: prefix.exactOptional().describe('The same for groups.'),
};

/** `authentication.tenants`: the tenant of an issuer, for which kube-apiserver's file has no field. */
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

/** Checks beyond kube-apiserver's; each can be turned off. */
const strict = z
  .strictObject({
    verifiedEmail: on.describe('Refuse `email` as a user name unless `email_verified` is true.'),
    authorizedParty: on.describe(
      'Refuse a token for several audiences whose `azp` is not one of `audiences`.',
    ),
    tokenTypes: on.describe('Refuse a `typ` other than `JWT` and `at+jwt`, and logout tokens (`events`).'),
    uniqueMembers: on.describe('Refuse a token with a duplicate member.'),
    exactNumbers: on.describe('Refuse a number beyond 2^53 in a claim that an expression reads.'),
    completeGroups: on.describe('Refuse a token that references groups instead of containing them all.'),
    ownKeys: on.describe(
      'Ignore keys that the key set assigns to another issuer (`issuer`, as in Entra ID).',
    ),
    namedUsers: on.describe('Refuse a user or group name that consists of its prefix only.'),
    wholeCharacters: on.describe('Refuse a token with a lone surrogate in a claim.'),
  })
  .prefault({})
  .describe('Checks that kube-apiserver does not make; all are on by default.');

/** Stonegate's own fields for the verification of tokens; all have defaults. */
const verification = z.strictObject({
  algorithms: z
    .array(z.enum(ALGORITHMS))
    .min(1)
    .default([...ALGORITHMS])
    .describe('Accepted signature algorithms; asymmetric only.'),
  clockTolerance: duration
    .prefault('5s')
    .describe("How far the issuer's clock may be ahead, for `nbf`; `exp` is exact."),
  keysMaxAge: period.prefault('1h').describe('Time after which the key set is fetched again.'),
  keysRefreshInterval: period
    .prefault('10s')
    .describe('At most one fetch of the key set in this time because of unknown key ids.'),
});

function issuerSchema(file: FileField) {
  return z
    .strictObject({
      url: url({ what: "the issuer's URL, such as https://login.example.com", path: /^/ }).describe(
        'Exactly as in the `iss` claim.',
      ),
      discoveryURL: url({ what: 'the URL of its discovery document', path: /^/ })
        .exactOptional()
        .describe('URL of the discovery document, if it is not below `url`.'),
      audiences: z.array(text).min(1).describe('The token must have one of these audiences.'),
      audienceMatchPolicy: z
        .literal('MatchAny')
        .exactOptional()
        .describe('Accepted for compatibility with kube-apiserver; the only policy.'),
      caFile: file
        .exactOptional()
        .describe(
          "The CA of the issuer's certificate; else those that Node trusts (with `NODE_USE_SYSTEM_CA=1`, also the system's).",
        ),
      certificateAuthority: z.string().min(1).exactOptional().describe('The same as PEM text.'),
    })
    .transform(({ audienceMatchPolicy: _always, ...issuer }) => issuer);
}

export function jwtSchema(file: FileField) {
  const { algorithms, clockTolerance, keysMaxAge, keysRefreshInterval } = verification.shape;
  return z
    .strictObject({
      issuer: issuerSchema(file).describe('The issuer that signs the tokens.'),
      algorithms,
      claimValidationRules,
      claimMappings: claimMappingsSchema.describe('How claims become a Kubernetes user.'),
      userValidationRules,
      ...namePrefixes,
      tenant: tenantSchema.describe('The tenant: fixed, or from a claim through a map or an allow-list.'),
      strict,
      clockTolerance,
      keysMaxAge,
      keysRefreshInterval,
    })
    .transform((issuer) => ({ ...issuer, asKubernetes: false }));
}

/**
 * Verification settings for issuers of kube-apiserver's file: its algorithms, and none of the additional
 * checks.
 */
export const KUBERNETES_VERIFICATION = {
  ...verification.parse({}),
  algorithms: ALGORITHMS.filter((algorithm) => algorithm !== 'EdDSA'),
  // The default of go-oidc.
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

export type IssuerClaimMappings = JWTConfiguration['claimMappings'];
export type ClaimRule = JWTConfiguration['claimValidationRules'][number];

const expression = z
  .string()
  .refine((source) => source.trim() !== '', { error: 'a CEL expression' })
  .describe('A CEL expression over `claims`.');

/** Domain-prefixed and lower case: the API server lower-cases header names. */
const extraKey = z
  .string()
  .regex(/^[a-z0-9.-]+\.[a-z0-9.-]+\/[a-z0-9/._-]+$/, {
    error: 'a lower-case, domain-prefixed key such as example.com/department',
  })
  .refine((key) => !RESERVED_EXTRA_KEY.test(key), {
    error: 'a key of a domain of your own: kubernetes.io, k8s.io and stonegate.dev are reserved',
  })
  .describe('For example `example.com/department`.');

const nameSchema = z
  .strictObject({
    claim: text.exactOptional().describe('A claim at the top level of the token; with `prefix`.'),
    prefix: prefixOrNone
      .exactOptional()
      .describe("Prefix of the claim's value. `-` or an empty string means none."),
    expression: expression.exactOptional(),
  })
  .transform(({ claim, prefix, expression }, context): IssuerClaimMappings['username'] => {
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
  .transform(({ claim, expression }, context): NonNullable<IssuerClaimMappings['uid']> => {
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
  .transform(({ key, claim, valueExpression }, context): IssuerClaimMappings['extra'][number] => {
    if (claim !== undefined && valueExpression === undefined) return { key, claim };
    if (valueExpression !== undefined && claim === undefined) return { key, valueExpression };
    context.addIssue(
      formIssue('{ key, claim } or { key, valueExpression }', { key, claim, valueExpression }),
    );
    return z.NEVER;
  });

const claimMappingsSchema = z.strictObject({
  username: nameSchema.describe('The user name. `email` is accepted only if `email_verified` is true.'),
  groups: nameSchema.exactOptional().describe('A string or a list of strings.'),
  uid: uidSchema.exactOptional().describe('Sent as `Impersonate-Uid`.'),
  extra: z.array(extraSchema).default([]).describe('Further claims, sent as `Impersonate-Extra-…`.'),
});

const message = z.string().exactOptional().describe('Logged if the expression is false.');

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
  .describe('Claims that a token must have with exactly this value, or expressions that must be true.');

const userValidationRules = z
  .array(
    z.strictObject({
      expression: expression.describe('A CEL expression over `user`: `username`, `uid`, `groups`, `extra`.'),
      message,
    }),
  )
  .default([])
  .describe('Expressions over the mapped user that must be true.');
