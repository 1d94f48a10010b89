/**
 * Reads the reviews that an API server posts, and encodes the responses in the version of the request. Every
 * field is checked before use. In SubjectAccessReview `v1beta1` the field `groups` is called `group`.
 * https://kubernetes.io/docs/reference/access-authn-authz/webhook/
 */
import { z } from 'zod';
import { StatusError } from '../../errors/status-error.ts';
import type { UserInfo } from '../../kubernetes/authentication-v1.ts';
import type { SubjectAccessReviewSpec } from '../../kubernetes/authorization-v1.ts';
import { goTextListsSchema, goTextSchema, goTextsSchema } from '../../lib/go-json.ts';
import { firstProblem } from '../../lib/parse-json.ts';

export type Review =
  | { readonly kind: 'TokenReview'; readonly apiVersion: string; readonly token: string }
  | {
      readonly kind: 'SubjectAccessReview';
      readonly apiVersion: string;
      readonly spec: SubjectAccessReviewSpec;
      /** `spec.resourceAttributes.tenant`, which only Arktos sets; else empty. */
      readonly tenant: string;
    };

/** Without `audiences`: Keystone's tokens have none, and the API server then assumes its own. */
export interface TokenReviewStatus {
  readonly authenticated: boolean;
  readonly user?: UserInfo;
  /** Written to the API server's log. The API server does not cache a result with an error. */
  readonly error?: string;
}

/** Never `denied`: another authorizer may allow what the policy does not. */
export interface AccessReviewStatus {
  readonly allowed: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

const reviewSchema = z.object({ apiVersion: goTextSchema, kind: goTextSchema, spec: z.unknown() });

const tokenSchema = z.object({ token: z.string().min(1) });

const accessSchema = z.object({
  user: goTextSchema,
  uid: goTextSchema,
  groups: goTextsSchema,
  group: goTextsSchema,
  extra: goTextListsSchema,
  resourceAttributes: z
    .object({
      namespace: goTextSchema,
      verb: goTextSchema,
      group: goTextSchema,
      version: goTextSchema,
      resource: goTextSchema,
      subresource: goTextSchema,
      name: goTextSchema,
      tenant: goTextSchema,
    })
    .nullish(),
  nonResourceAttributes: z.object({ path: goTextSchema, verb: goTextSchema }).nullish(),
});

/** @throws StatusError BodyMalformed; its message never quotes the body, which holds a token */
export function readReview(body: Buffer): Review {
  const { apiVersion, kind, spec } = readAs(reviewSchema, parse(body), 'the review');
  switch (`${kind} of ${apiVersion}`) {
    case 'TokenReview of authentication.k8s.io/v1':
    case 'TokenReview of authentication.k8s.io/v1beta1':
      return { kind: 'TokenReview', apiVersion, token: readAs(tokenSchema, spec, 'spec').token };
    case 'SubjectAccessReview of authorization.k8s.io/v1':
      return accessReview(apiVersion, spec, 'groups');
    case 'SubjectAccessReview of authorization.k8s.io/v1beta1':
      return accessReview(apiVersion, spec, 'group');
    default:
      throw malformed(
        'expected a TokenReview of authentication.k8s.io or a SubjectAccessReview of authorization.k8s.io, v1 or v1beta1',
      );
  }
}

/** Without the review's `spec`, which holds the token. */
export function encodeReview(
  { apiVersion, kind }: Review,
  status: TokenReviewStatus | AccessReviewStatus,
): string {
  return `${JSON.stringify({ apiVersion, kind, metadata: { creationTimestamp: null }, status })}\n`;
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // The parser's message would quote the body, and with it the token.
    throw malformed('the body is no JSON');
  }
}

function readAs<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const { data, success } = schema.safeParse(value);
  if (success) return data;
  throw malformed(firstProblem(schema, value, what) ?? '');
}

function accessReview(apiVersion: string, value: unknown, groupsField: 'groups' | 'group'): Review {
  const { user, uid, extra, resourceAttributes, nonResourceAttributes, ...lists } = readAs(
    accessSchema,
    value,
    'spec',
  );
  const spec = { user, uid, groups: lists[groupsField], extra };
  const kind = 'SubjectAccessReview';
  if (resourceAttributes && !nonResourceAttributes) {
    const { tenant, ...attributes } = resourceAttributes;
    return { kind, apiVersion, spec: { ...spec, resourceAttributes: attributes }, tenant };
  }
  if (nonResourceAttributes && !resourceAttributes)
    return { kind, apiVersion, spec: { ...spec, nonResourceAttributes }, tenant: '' };
  throw malformed('exactly one of spec.resourceAttributes and spec.nonResourceAttributes must be set');
}

function malformed(why: string): StatusError {
  return new StatusError('BodyMalformed', `the review cannot be read: ${why}`);
}
