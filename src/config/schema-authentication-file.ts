/**
 * The zod schema of kube-apiserver's AuthenticationConfiguration. As in kube-apiserver, unknown fields are
 * errors, and null or an empty string counts as absent.
 * https://kubernetes.io/docs/reference/config-api/apiserver-config.v1/
 */
import { z } from 'zod';
import { celExpression, emailIsVerified } from '../identity/jwt/expression-configuration.ts';
import {
  CLAIM_RULE_FORMS,
  claimRuleExpression,
  claimsOnce,
  NAME_FORMS,
  rulesOnce,
  UID_FORMS,
  userRuleExpression,
} from '../identity/jwt/jwt-configuration.ts';
import { RESERVED_EXTRA_KEY } from '../kubernetes/reserved-names.ts';
import { parseGoURL } from '../lib/go-url.ts';
import { isJSONObject } from '../lib/json-object.ts';
import { sentence, unique } from '../lib/schema-fields.ts';

const MAX_ISSUERS = 64;

const anonymous = z
  .strictObject({
    enabled: z.boolean().default(false),
    conditions: z.array(z.strictObject({ path: z.string().default('') }).nullable()).default([]),
  })
  .refine(({ enabled, conditions }) => enabled || conditions.length === 0, {
    error: 'no conditions unless anonymous requests are enabled',
    path: ['conditions'],
  })
  .transform(({ enabled, conditions }) => ({
    enabled,
    paths: conditions.map((condition) => condition?.path ?? ''),
  }));

/** The rule for both URLs of an issuer. */
function address(what: string) {
  const error = `${what}: an https URL without credentials, query or fragment`;
  return z.string({ error }).refine(
    (address) => {
      const url = parseGoURL(address);
      return url?.scheme === 'https' && !url.hasUser && url.query === '' && url.fragment === '';
    },
    { error },
  );
}

const AUDIENCES = 'a list of at least one audience, and none that is empty';

const issuer = z
  .strictObject({
    url: address("the issuer's URL"),
    discoveryURL: address('the URL of its discovery document').exactOptional(),
    audiences: z
      .array(z.string(), { error: AUDIENCES })
      .refine((audiences) => audiences.length > 0 && !audiences.includes(''), { error: AUDIENCES })
      .refine((audiences) => new Set(audiences).size === audiences.length, { error: 'each audience once' }),
    audienceMatchPolicy: z.literal('MatchAny').exactOptional(),
    certificateAuthority: z.string().exactOptional(),
  })
  .refine(
    ({ audiences, audienceMatchPolicy }) => audiences.length < 2 || audienceMatchPolicy !== undefined,
    sentence(
      'is required: expected "MatchAny", since there is more than one audience',
      'audienceMatchPolicy',
    ),
  )
  .refine(({ url, discoveryURL = '' }) => withoutSlashes(discoveryURL) !== withoutSlashes(url), {
    error: 'another URL than url',
    path: ['discoveryURL'],
  })
  .transform(({ audienceMatchPolicy: _policy, ...issuer }) => issuer);

function withoutSlashes(url: string): string {
  return url.replace(/\/+$/, '');
}

const expression = z.strictObject({ expression: celExpression('claims') });

const name = z.xor([z.strictObject({ claim: z.string(), prefix: z.string() }), expression], {
  error: NAME_FORMS,
});

const uid = z.xor([z.strictObject({ claim: z.string() }), expression], { error: UID_FORMS });

const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const KEY = /^([^/]+)\/([A-Za-z0-9/\-._~%!$&'()*+,;=:]+)$/;

const extra = z.strictObject({
  key: z
    .string()
    .refine((key) => SUBDOMAIN.test(KEY.exec(key)?.[1] ?? '') && key === key.toLowerCase(), {
      error: 'a lower-case, domain-prefixed key such as example.com/department',
    })
    .refine((key) => !RESERVED_EXTRA_KEY.test(key), {
      error: 'a key of a domain of your own: kubernetes.io, k8s.io and stonegate.dev are reserved',
    }),
  valueExpression: celExpression('claims'),
});

const claimMappings = z.preprocess(
  withoutUnused,
  z.strictObject({
    username: name,
    groups: name.exactOptional(),
    uid: uid.exactOptional(),
    extra: z
      .array(extra)
      .superRefine(unique('each key once', ({ key }) => key, 'key'))
      .default([]),
  }),
);

/** Groups that have at most a prefix are none, and neither is an empty uid. */
function withoutUnused(mappings: unknown): unknown {
  if (!isJSONObject(mappings)) return mappings;
  const { groups, uid, ...rest } = mappings;
  const hasGroups = !isJSONObject(groups) || Object.keys(groups).some((field) => field !== 'prefix');
  const hasUID = !isJSONObject(uid) || Object.keys(uid).length > 0;
  return {
    ...rest,
    ...(groups !== undefined && hasGroups && { groups }),
    ...(uid !== undefined && hasUID && { uid }),
  };
}

const message = z.string().exactOptional();

const claimRule = z.xor(
  [
    z.strictObject({ claim: z.string(), requiredValue: z.string().default('') }),
    z.strictObject({ expression: claimRuleExpression, message }),
  ],
  { error: CLAIM_RULE_FORMS },
);

const jwt = z
  .strictObject({
    issuer,
    claimValidationRules: z.array(claimRule).superRefine(claimsOnce).superRefine(rulesOnce).default([]),
    claimMappings,
    userValidationRules: z
      .array(z.strictObject({ expression: userRuleExpression, message }))
      .superRefine(rulesOnce)
      .default([]),
  })
  .superRefine(emailIsVerified(true));

const file = z.strictObject({
  apiVersion: z.enum([
    'apiserver.config.k8s.io/v1',
    'apiserver.config.k8s.io/v1beta1',
    'apiserver.config.k8s.io/v1alpha1',
  ]),
  kind: z.literal('AuthenticationConfiguration'),
  jwt: z
    .array(jwt)
    .refine((issuers) => issuers.length <= MAX_ISSUERS, { error: `at most ${MAX_ISSUERS} issuers` })
    .superRefine(unique('an issuer of its own', ({ issuer }) => issuer.url, 'issuer', 'url'))
    .superRefine(
      unique(
        'a discovery document of its own',
        ({ issuer }) => issuer.discoveryURL,
        'issuer',
        'discoveryURL',
      ),
    )
    .default([]),
  anonymous: anonymous.exactOptional(),
});

export const authenticationFileSchema = z.preprocess(withoutEmpty, file);

/** Omits what counts as absent. Only a prefix may be empty. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (!isJSONObject(value)) return value;
  const members = Object.entries(value).filter(
    ([key, member]) => member !== null && (member !== '' || key === 'prefix'),
  );
  return Object.fromEntries(members.map(([key, member]) => [key, withoutEmpty(member)]));
}

export type AuthenticationFile = z.output<typeof authenticationFileSchema>;
