/**
 * `authentication.jwt[]`: kube-apiserver's AuthenticationConfiguration with a tenant, so that an existing
 * file can be copied entry by entry.
 * https://kubernetes.io/docs/reference/config-api/apiserver-config.v1/
 */
import { z } from 'zod';
import { RESERVED_EXTRA_KEY } from '../../kubernetes/reserved-names.ts';
import {
  duration,
  type Output,
  period,
  prefix,
  prefixOrNone,
  tenant,
  text,
  toggle,
  unique,
  url,
} from '../../lib/schema-fields.ts';
import { authorityFile } from '../../lib/schema-files.ts';
import {
  celExpression,
  emailIsVerified,
  type ResultType,
  STRING,
  STRINGS,
  TRUTH,
} from './expression-configuration.ts';
import { loginField } from './login-configuration.ts';

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

const tenantClaim = text.describe('The claim that names the tenant; with `map` or `allow`.');

const fixedTenant = z.strictObject({
  value: tenant.describe('One tenant for all users of this issuer.'),
});
const mappedTenant = z.strictObject({
  claim: tenantClaim,
  map: z.record(text, tenant).describe('Value of the claim → tenant; other values are refused.'),
});
const allowedTenant = z.strictObject({
  claim: tenantClaim,
  allow: z.array(tenant).min(1).describe('Values of the claim that are accepted as tenant names.'),
});

const TENANT_FORMS = '{ value }, { claim, map } or { claim, allow }';

/** Never an arbitrary value of a claim. */
const tenantSchema = z.xor([fixedTenant, mappedTenant, allowedTenant], { error: TENANT_FORMS });

const namePrefixes = {
  usernamePrefix: prefix
    .exactOptional()
    .describe('The prefix that every user name from an expression must have. Other names are refused.'),
  groupsPrefix: prefix.exactOptional().describe('The same for groups.'),
};

const besideTenant = { ...namePrefixes, login: loginField };

/** `authentication.tenants`: the tenant of an issuer, for which kube-apiserver's file has no field. */
export const issuerTenantSchema = z
  .xor(
    [fixedTenant.extend(besideTenant), mappedTenant.extend(besideTenant), allowedTenant.extend(besideTenant)],
    { error: TENANT_FORMS },
  )
  .transform(({ usernamePrefix, groupsPrefix, login, ...tenant }) => ({
    tenant,
    ...(login !== undefined && { login }),
    ...(usernamePrefix !== undefined && { usernamePrefix }),
    ...(groupsPrefix !== undefined && { groupsPrefix }),
  }));

/** These checks go beyond kube-apiserver's; each can be turned off. */
const strict = z
  .strictObject({
    verifiedEmail: toggle('Refuse `email` as a user name unless `email_verified` is true.', true),
    authorizedParty: toggle(
      'Refuse a token for several audiences whose `azp` is not one of `audiences`.',
      true,
    ),
    tokenTypes: toggle('Refuse a `typ` other than `JWT` and `at+jwt`, and logout tokens (`events`).', true),
    completeGroups: toggle('Refuse a token that references groups instead of containing them all.', true),
    ownKeys: toggle(
      'Ignore keys that the key set assigns to another issuer (`issuer`, as in Entra ID).',
      true,
    ),
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
    .describe(
      'At most one fetch of the key set in this time because of unknown key ids and wrong signatures.',
    ),
});

const issuer = z
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
    caFile: authorityFile("the issuer's certificate"),
    certificateAuthority: z.string().min(1).exactOptional().describe('The same as PEM text.'),
  })
  .refine(({ caFile, certificateAuthority }) => caFile === undefined || certificateAuthority === undefined, {
    error: 'either caFile or certificateAuthority',
    params: { found: 'both' },
    path: ['certificateAuthority'],
  })
  .transform(({ audienceMatchPolicy: _always, ...issuer }) => issuer);

export const claimRuleExpression = celExpression('claims', TRUTH).describe('A CEL expression over `claims`.');
export const userRuleExpression = celExpression('user', TRUTH).describe(
  'A CEL expression over `user`: `username`, `uid`, `groups`, `extra`.',
);

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

export const NAME_FORMS = '{ claim, prefix }, where the prefix may be "", or { expression }';
export const UID_FORMS = '{ claim } or { expression }';
export const CLAIM_RULE_FORMS = '{ claim, requiredValue } or { expression, message }';

function nameSchema(result: ResultType) {
  return z.xor(
    [
      z.strictObject({
        claim: text.describe('A claim at the top level of the token; with `prefix`.'),
        prefix: prefixOrNone.describe("Prefix of the claim's value. `-` or an empty string means none."),
      }),
      z.strictObject({
        expression: celExpression('claims', result).describe('A CEL expression over `claims`.'),
      }),
    ],
    { error: NAME_FORMS },
  );
}

const uid = z.xor(
  [
    z.strictObject({ claim: text.describe('A claim that never changes, such as `sub`.') }),
    z.strictObject({
      expression: celExpression('claims', STRING).describe('A CEL expression over `claims`.'),
    }),
  ],
  { error: UID_FORMS },
);

const extra = z.xor(
  [
    z.strictObject({ key: extraKey, claim: text.describe('A string or a list of strings.') }),
    z.strictObject({
      key: extraKey,
      valueExpression: celExpression('claims', STRINGS).describe('A CEL expression over `claims`.'),
    }),
  ],
  { error: '{ key, claim } or { key, valueExpression }' },
);

const claimMappings = z.strictObject({
  username: nameSchema(STRING).describe(
    'The user name. `email` is accepted only if `email_verified` is true.',
  ),
  groups: nameSchema(STRINGS).exactOptional().describe('A string or a list of strings.'),
  uid: uid.exactOptional().describe('Sent as `Impersonate-Uid`.'),
  extra: z
    .array(extra)
    .superRefine(unique('each key once', ({ key }) => key, 'key'))
    .default([])
    .describe('Further claims, sent as `Impersonate-Extra-…`.'),
});

const message = z.string().exactOptional().describe('Logged if the expression is false.');

const claimRule = z.xor(
  [
    z.strictObject({
      claim: text.describe('Its name; with `requiredValue`.'),
      requiredValue: z.string().describe('A string; compared exactly.'),
    }),
    z.strictObject({ expression: claimRuleExpression, message }),
  ],
  { error: CLAIM_RULE_FORMS },
);

export const claimsOnce = unique<ClaimRule>(
  'each claim once',
  (rule) => ('claim' in rule ? rule.claim : undefined),
  'claim',
);
export const rulesOnce = unique<{ readonly claim?: string; readonly expression?: string }>(
  'each rule once',
  ({ expression }) => expression,
  'expression',
);

const { algorithms, clockTolerance, keysMaxAge, keysRefreshInterval } = verification.shape;

export const jwtSchema = z
  .strictObject({
    issuer: issuer.describe('The issuer that signs the tokens.'),
    algorithms,
    claimValidationRules: z
      .array(claimRule)
      .superRefine(claimsOnce)
      .superRefine(rulesOnce)
      .default([])
      .describe('Claims that a token must have with exactly this value, or expressions that must be true.'),
    claimMappings: claimMappings.describe('How claims become a Kubernetes user.'),
    userValidationRules: z
      .array(z.strictObject({ expression: userRuleExpression, message }))
      .superRefine(rulesOnce)
      .default([])
      .describe('Expressions over the mapped user that must be true.'),
    ...namePrefixes,
    tenant: tenantSchema.describe('The tenant: fixed, or from a claim through a map or an allow-list.'),
    login: loginField,
    strict,
    clockTolerance,
    keysMaxAge,
    keysRefreshInterval,
  })
  .superRefine(emailIsVerified(false))
  .transform((issuer) => ({ ...issuer, asKubernetes: false }));

/**
 * Verification settings for issuers of kube-apiserver's file: its algorithms, and none of the additional
 * checks.
 */
export const KUBERNETES_VERIFICATION = {
  ...verification.parse({}),
  algorithms: ALGORITHMS.filter((algorithm) => algorithm !== 'EdDSA'),
  // The default of go-oidc.
  clockTolerance: 60_000,
  /** A token that kube-apiserver refuses gets 401 here too. */
  asKubernetes: true,
  strict: {
    verifiedEmail: false,
    authorizedParty: false,
    tokenTypes: false,
    completeGroups: false,
    ownKeys: false,
  },
};

export type JWTConfiguration = Output<typeof jwtSchema>;
export type JWTStrictness = JWTConfiguration['strict'];
export type JWTTenant = Output<typeof tenantSchema>;
export type ClaimRule = Output<typeof claimRule>;
export type ExpressionRule = JWTConfiguration['userValidationRules'][number];
