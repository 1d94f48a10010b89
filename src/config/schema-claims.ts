/**
 * From claims to a user, as `authentication.jwt[]` says it: by claim, or by CEL expression.
 * https://kubernetes.io/docs/reference/config-api/apiserver-config.v1/
 */
import { z } from 'zod';
import type { JWTConfiguration } from '../api/config-v1alpha1.ts';
import { RESERVED_EXTRA_KEY } from '../api/reserved-names.ts';
import { prefixOrNone, text } from './fields.ts';
import { formIssue } from './forms.ts';

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

export const claimMappingsSchema = z.strictObject({
  username: nameSchema.describe("The user's name. `email` counts only if `email_verified` says so."),
  groups: nameSchema.exactOptional().describe('A string or a list of strings.'),
  uid: uidSchema.exactOptional().describe('Sent as `Impersonate-Uid`.'),
  extra: z.array(extraSchema).default([]).describe('Further claims, sent as `Impersonate-Extra-…`.'),
});

const message = z.string().exactOptional().describe('What the log says where the expression is not true.');

export const claimValidationRules = z
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

export const userValidationRules = z
  .array(
    z.strictObject({
      expression: expression.describe('CEL, about `user`: `username`, `uid`, `groups`, `extra`.'),
      message,
    }),
  )
  .default([])
  .describe('Expressions about the user these claims make that must be true.');
