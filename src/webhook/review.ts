/**
 * Reads the reviews that an API server posts, and encodes the responses in the version of the request. Every
 * field is checked before use. In SubjectAccessReview `v1beta1` the field `groups` is called `group`.
 * https://kubernetes.io/docs/reference/access-authn-authz/webhook/
 */
import type { Extra, UserInfo } from '../api/authentication-v1.ts';
import type {
  NonResourceAttributes,
  ResourceAttributes,
  SubjectAccessReviewSpec,
} from '../api/authorization-v1.ts';
import { StatusError } from '../errors/status-error.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';

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

const RESOURCE_FIELDS = ['namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'] as const;
const NON_RESOURCE_FIELDS = ['path', 'verb'] as const;

/** @throws StatusError BodyMalformed; its message never quotes the body, which holds a token */
export function readReview(body: Buffer): Review {
  const document = parse(body);
  const apiVersion = text(document, 'apiVersion') ?? '';
  const kind = text(document, 'kind');
  const spec = object(document.spec, 'spec');
  switch (`${kind} of ${apiVersion}`) {
    case 'TokenReview of authentication.k8s.io/v1':
    case 'TokenReview of authentication.k8s.io/v1beta1':
      return { kind: 'TokenReview', apiVersion, token: tokenOf(spec) };
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

function parse(body: Buffer): JSONObject {
  try {
    return object(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)), 'the body');
  } catch (error) {
    if (error instanceof StatusError) throw error;
    // The parser's message would quote the body, and with it the token.
    throw malformed('the body is no JSON');
  }
}

function tokenOf(spec: JSONObject): string {
  strings(spec, 'audiences');
  const token = text(spec, 'token') ?? '';
  if (token === '') throw malformed('spec.token is missing');
  return token;
}

function accessReview(apiVersion: string, spec: JSONObject, groupsField: 'groups' | 'group'): Review {
  const { resourceAttributes } = spec;
  const tenant = isJSONObject(resourceAttributes) ? (text(resourceAttributes, 'tenant') ?? '') : '';
  return { kind: 'SubjectAccessReview', apiVersion, spec: accessReviewSpec(spec, groupsField), tenant };
}

function accessReviewSpec(spec: JSONObject, groupsField: 'groups' | 'group'): SubjectAccessReviewSpec {
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (isAbsent(resourceAttributes) === isAbsent(nonResourceAttributes)) {
    throw malformed('exactly one of spec.resourceAttributes and spec.nonResourceAttributes must be given');
  }
  const attributes: Pick<SubjectAccessReviewSpec, 'resourceAttributes' | 'nonResourceAttributes'> = isAbsent(
    resourceAttributes,
  )
    ? {
        nonResourceAttributes: fields(
          nonResourceAttributes,
          NON_RESOURCE_FIELDS,
        ) satisfies NonResourceAttributes,
      }
    : { resourceAttributes: fields(resourceAttributes, RESOURCE_FIELDS) satisfies ResourceAttributes };
  return {
    user: text(spec, 'user') ?? '',
    uid: text(spec, 'uid') ?? '',
    groups: strings(spec, groupsField),
    extra: extraOf(spec.extra),
    ...attributes,
  };
}

function extraOf(value: unknown): Extra {
  if (isAbsent(value)) return {};
  const extra = object(value, 'spec.extra');
  return Object.fromEntries(Object.keys(extra).map((key) => [key, strings(extra, key)]));
}

function fields<K extends string>(value: unknown, keys: readonly K[]): Partial<Record<K, string>> {
  const source = object(value, 'the attributes');
  const result: Partial<Record<K, string>> = {};
  for (const key of keys) {
    const found = text(source, key);
    if (found !== undefined) result[key] = found;
  }
  return result;
}

function strings(source: JSONObject, key: string): readonly string[] {
  const value = source[key];
  if (isAbsent(value)) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw malformed(`${key} is no list of strings`);
}

function text(source: JSONObject, key: string): string | undefined {
  const value = source[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw malformed(`${key} is no string`);
}

function object(value: unknown, what: string): JSONObject {
  if (isJSONObject(value)) return value;
  throw malformed(`${what} is no object`);
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

function malformed(why: string): StatusError {
  return new StatusError('BodyMalformed', `the review cannot be read: ${why}`);
}
