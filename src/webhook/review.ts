/**
 * Reads the reviews that an API server posts, and encodes the responses in the version of the request. In
 * SubjectAccessReview `v1beta1` the field `groups` is called `group`.
 * https://kubernetes.io/docs/reference/access-authn-authz/webhook/
 */
import { z } from 'zod';
import type { UserInfo } from '../api/authentication-v1.ts';
import type { SubjectAccessReviewSpec } from '../api/authorization-v1.ts';
import { StatusError } from '../errors/status-error.ts';
import { firstProblem } from '../lib/parse-json.ts';

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
  /** For the API server's log. The API server does not cache a result with an error. */
  readonly error?: string;
}

/** Never `denied`: another authorizer may allow what the policy does not. */
export interface AccessReviewStatus {
  readonly allowed: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

const text = z.string().exactOptional();
const texts = z.array(z.string()).default([]);
const headSchema = z.object({ kind: text, apiVersion: text, spec: z.looseObject({}) });
const tokenSchema = z.object({ token: z.string().min(1), audiences: texts });
const accessSchema = z.object({
  user: z.string().default(''),
  uid: z.string().default(''),
  groups: texts,
  extra: z.record(z.string(), z.array(z.string())).default({}),
  resourceAttributes: z
    .object({
      namespace: text,
      verb: text,
      group: text,
      version: text,
      resource: text,
      subresource: text,
      name: text,
      tenant: text,
    })
    .exactOptional(),
  nonResourceAttributes: z.object({ path: text, verb: text }).exactOptional(),
});

/** @throws StatusError BodyMalformed; its message never quotes the body, which holds a token */
export function readReview(body: Buffer): Review {
  const { kind, apiVersion = '', spec } = checked(headSchema, parse(body), 'the review');
  switch (`${kind} of ${apiVersion}`) {
    case 'TokenReview of authentication.k8s.io/v1':
    case 'TokenReview of authentication.k8s.io/v1beta1':
      return { kind: 'TokenReview', apiVersion, token: checked(tokenSchema, spec, 'spec').token };
    case 'SubjectAccessReview of authorization.k8s.io/v1':
      return accessReview(apiVersion, spec);
    case 'SubjectAccessReview of authorization.k8s.io/v1beta1':
      return accessReview(apiVersion, { ...spec, groups: spec.group });
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

function accessReview(apiVersion: string, given: unknown): Review {
  const { resourceAttributes, nonResourceAttributes, ...user } = checked(accessSchema, given, 'spec');
  if ((resourceAttributes === undefined) === (nonResourceAttributes === undefined))
    throw malformed('exactly one of spec.resourceAttributes and spec.nonResourceAttributes must be given');
  const { tenant = '', ...resource } = resourceAttributes ?? {};
  const spec = nonResourceAttributes
    ? { ...user, nonResourceAttributes }
    : { ...user, resourceAttributes: resource };
  return { kind: 'SubjectAccessReview', apiVersion, spec, tenant };
}

/** A null is an absent value, as in Go. The parser's message would quote the body, and with it the token. */
function parse(body: Buffer): unknown {
  try {
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(body);
    return JSON.parse(decoded, (_key, value) => (value === null ? undefined : value));
  } catch {
    throw malformed('the body is no JSON');
  }
}

function checked<T>(schema: z.ZodType<T>, value: unknown, name: string): T {
  const { data } = schema.safeParse(value);
  if (data === undefined) throw malformed(firstProblem(schema, value, name) ?? 'it has another form');
  return data;
}

function malformed(why: string): StatusError {
  return new StatusError('BodyMalformed', `the review cannot be read: ${why}`);
}
