/**
 * The zod schema of kube-apiserver's AuthenticationConfiguration. As in kube-apiserver, unknown fields are
 * errors, and null or an empty string counts as absent.
 * https://kubernetes.io/docs/reference/config-api/apiserver-config.v1/
 */
import { z } from 'zod';
import type { AnonymousConfiguration, JWTConfiguration } from '../api/config-v1alpha1.ts';
import { RESERVED_EXTRA_KEY } from '../api/reserved-names.ts';
import { parseGoURL } from '../lib/go-url.ts';
import { formIssue } from './fields.ts';
import type { ClaimRule, IssuerClaimMappings } from './schema-jwt.ts';

const MAX_ISSUERS = 64;

const word = z
  .string()
  .nullish()
  .transform((given) => given ?? '');

function listOf<T extends z.ZodType>(schema: T) {
  return z
    .array(schema)
    .nullish()
    .transform((given) => given ?? []);
}

const PATH = z
  .strictObject({ path: word })
  .nullish()
  .transform((given) => given ?? { path: '' });

const anonymous = z
  .strictObject({ enabled: z.boolean().nullish(), conditions: listOf(PATH) })
  .refine(({ enabled, conditions }) => enabled === true || conditions.length === 0, {
    error: 'no conditions unless anonymous requests are enabled',
    path: ['conditions'],
  })
  .transform(
    ({ enabled, conditions }): AnonymousConfiguration => ({
      enabled: enabled === true,
      paths: conditions.map(({ path }) => path),
    }),
  );

/** The rule for both URLs of an issuer. */
function isAddress(address: string): boolean {
  const url = parseGoURL(address);
  return url?.scheme === 'https' && !url.hasUser && url.query === '' && url.fragment === '';
}

const ADDRESS = 'an https URL without credentials, query or fragment';

const issuer = z
  .strictObject({
    url: word.refine(isAddress, { error: `the issuer's URL: ${ADDRESS}` }),
    discoveryURL: word.refine((url) => url === '' || isAddress(url), {
      error: `the URL of its discovery document: ${ADDRESS}`,
    }),
    audiences: listOf(word)
      .refine((audiences) => audiences.length > 0 && !audiences.includes(''), {
        error: 'at least one audience, and none that is empty',
      })
      .refine((audiences) => new Set(audiences).size === audiences.length, { error: 'each audience once' }),
    audienceMatchPolicy: word.refine((policy) => policy === '' || policy === 'MatchAny', {
      error: '"MatchAny"',
    }),
    certificateAuthority: word,
    egressSelectorType: word.refine((type) => type === '', {
      error: 'no egressSelectorType: Stonegate has no egress selectors, and reaches issuers directly',
    }),
  })
  .refine(({ audiences, audienceMatchPolicy }) => audiences.length < 2 || audienceMatchPolicy !== '', {
    error: '"MatchAny", since there is more than one audience',
    path: ['audienceMatchPolicy'],
  })
  .refine(({ url, discoveryURL }) => withoutSlashes(discoveryURL) !== withoutSlashes(url), {
    error: 'another URL than url',
    path: ['discoveryURL'],
  })
  .transform(({ url, audiences, discoveryURL, certificateAuthority }): JWTConfiguration['issuer'] => ({
    url,
    audiences,
    ...(discoveryURL === '' ? {} : { discoveryURL }),
    ...(certificateAuthority === '' ? {} : { certificateAuthority }),
  }));

function withoutSlashes(url: string): string {
  return url.replace(/\/+$/, '');
}

const NAME_FORMS = '{ claim, prefix }, where the prefix may be "", or { expression }';
const nameFields = z.strictObject({ claim: word, prefix: z.string().nullish(), expression: word });

/** @param optional whether the mapping may be absent */
function nameSchema(optional: boolean) {
  return nameFields.transform((fields, context): IssuerClaimMappings['groups'] => {
    const { claim, prefix, expression } = fields;
    const given = typeof prefix === 'string';
    if (claim !== '' && given && expression === '') return { claim, prefix };
    if (claim === '' && expression !== '' && !given) return { expression };
    if (optional && claim === '' && expression === '') return undefined;
    context.addIssue(formIssue(NAME_FORMS, shown(fields)));
    return z.NEVER;
  });
}

/** The fields that are present; an empty prefix counts as present. */
function shown(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).filter(([key, value]) => (key === 'prefix' || value !== '') && value !== null),
  );
}

const uid = z
  .strictObject({ claim: word, expression: word })
  .transform((fields, context): IssuerClaimMappings['uid'] => {
    const { claim, expression } = fields;
    if (claim !== '' && expression === '') return { claim };
    if (expression !== '' && claim === '') return { expression };
    if (claim === '') return undefined;
    context.addIssue(formIssue('{ claim } or { expression }', shown(fields)));
    return z.NEVER;
  });

const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const KEY = /^([^/]+)\/([A-Za-z0-9/\-._~%!$&'()*+,;=:]+)$/;

const extra = z.strictObject({
  key: word
    .refine((key) => SUBDOMAIN.test(KEY.exec(key)?.[1] ?? '') && key === key.toLowerCase(), {
      error: 'a lower-case, domain-prefixed key such as example.com/department',
    })
    .refine((key) => !RESERVED_EXTRA_KEY.test(key), {
      error: 'a key of a domain of your own: kubernetes.io, k8s.io and stonegate.dev are reserved',
    }),
  valueExpression: word.refine((source) => source !== '', { error: 'a CEL expression' }),
});

/** Reads null and an absent field as an empty mapping. */
function emptyOr<T extends z.ZodType>(schema: T) {
  return z.preprocess((given) => given ?? {}, schema);
}

const claimMappings = emptyOr(
  z
    .strictObject({
      username: emptyOr(nameSchema(false)),
      groups: emptyOr(nameSchema(true)),
      uid: emptyOr(uid),
      extra: listOf(extra),
    })
    .transform(
      ({ username, groups, uid, extra }): IssuerClaimMappings => ({
        username: username ?? { expression: '' },
        extra,
        ...(groups === undefined ? {} : { groups }),
        ...(uid === undefined ? {} : { uid }),
      }),
    ),
);

const claimValidationRules = listOf(
  z
    .strictObject({ claim: word, requiredValue: word, expression: word, message: word })
    .transform((fields, context): ClaimRule => {
      const { claim, requiredValue, expression, message } = fields;
      if (claim !== '' && expression === '' && message === '') return { claim, requiredValue };
      if (claim === '' && expression !== '' && requiredValue === '')
        return { expression, ...(message === '' ? {} : { message }) };
      context.addIssue(formIssue('{ claim, requiredValue } or { expression, message }', shown(fields)));
      return z.NEVER;
    }),
);

const userValidationRules = listOf(
  z
    .strictObject({
      expression: word.refine((source) => source !== '', { error: 'a CEL expression' }),
      message: word,
    })
    .transform(({ expression, message }) => ({ expression, ...(message === '' ? {} : { message }) })),
);

const jwt = z.strictObject({
  issuer: emptyOr(issuer),
  claimValidationRules,
  claimMappings,
  userValidationRules,
});

export const authenticationFileSchema = z
  .strictObject({
    apiVersion: z.enum([
      'apiserver.config.k8s.io/v1',
      'apiserver.config.k8s.io/v1beta1',
      'apiserver.config.k8s.io/v1alpha1',
    ]),
    kind: z.literal('AuthenticationConfiguration'),
    jwt: listOf(jwt).refine((issuers) => issuers.length <= MAX_ISSUERS, {
      error: `at most ${MAX_ISSUERS} issuers`,
    }),
    anonymous: anonymous.nullish(),
  })
  .transform(({ anonymous, ...file }) => ({ ...file, ...(anonymous ? { anonymous } : {}) }));

export type AuthenticationFile = z.output<typeof authenticationFileSchema>;
