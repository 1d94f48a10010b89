/**
 * The bodies of self reviews. Of a request, JSON or protobuf, only the allowed fields are read: the review is
 * made in the user's name, so nothing is forwarded that Stonegate has not read.
 */

import type { ReviewedStatus } from '../../kubernetes/access-reviewer.ts';
import type { UserInfo } from '../../kubernetes/authentication-v1.ts';
import type { NonResourceAttributes, ResourceAttributes } from '../../kubernetes/authorization-v1.ts';
import { malformed, objectOf } from '../../kubernetes/body-fields.ts';
import { JSON_TYPE, PROTOBUF_TYPE } from '../../kubernetes/meta-v1.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Exchange } from '../../lib/exchange.ts';
import { timestamp } from '../../lib/go-time.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import { actingTenant } from '../../proxy/acting-tenant.ts';
import { reviewedQuestion } from '../../proxy/rbac-reasons.ts';
import { bodyType } from '../../proxy/request/body-type.ts';
import { parseBody } from '../../proxy/request/inspected-format.ts';
import { type BodyLimits, readBody } from '../../proxy/request/read-body.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import { jsonResponse } from '../../proxy/response/own-responses.ts';
import { outsideReason } from '../../rbac/scoped-rules.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { isTenantName } from '../../tenancy/tenant-name.ts';

/** What an access review asks: one of the two. */
export type AccessQuestion =
  | { readonly resourceAttributes: ResourceAttributes }
  | { readonly nonResourceAttributes: NonResourceAttributes };

const TYPES = [
  [JSON_TYPE, 'json'],
  [PROTOBUF_TYPE, 'protobuf'],
] as const;
/** Everyone may review themselves, and many at once: longer bodies of others need a right. */
const MAX_BYTES = 64 * 1024;
const LIMITS = { depth: 8, nodes: 10_000 };

const RESOURCE_FIELDS = [
  'tenant',
  'namespace',
  'verb',
  'group',
  'version',
  'resource',
  'subresource',
  'name',
] as const;
const NON_RESOURCE_FIELDS = ['path', 'verb'] as const;

/**
 * @returns the review's `spec`, empty if there is none
 * @throws StatusError MediaTypeUnsupported, BodyTooLarge, BodyTimeout, BodyMalformed
 */
export async function readReviewSpec(
  exchange: Exchange,
  limits: BodyLimits,
  clock: Clock,
): Promise<JSONObject> {
  const encoding = bodyType(exchange.headers, TYPES);
  const bodyBytes = Math.min(limits.bodyBytes, MAX_BYTES);
  const body = await readBody(exchange, { ...limits, bodyBytes, what: 'a review of oneself' }, clock);
  const { spec = {} } = objectOf(parseBody(body, encoding, LIMITS), 'the body');
  return objectOf(spec, 'spec');
}

/**
 * @throws StatusError BodyMalformed unless exactly one kind of attributes is given, all of them strings, and
 *   the tenant one that can be
 */
export function accessQuestion(spec: JSONObject): AccessQuestion {
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (isAbsent(resourceAttributes) === isAbsent(nonResourceAttributes)) {
    throw malformed('exactly one of spec.resourceAttributes and spec.nonResourceAttributes must be set');
  }
  return isAbsent(resourceAttributes)
    ? { nonResourceAttributes: strings(nonResourceAttributes, NON_RESOURCE_FIELDS) }
    : { resourceAttributes: withTenant(strings(resourceAttributes, RESOURCE_FIELDS)) };
}

function withTenant({
  tenant = '',
  ...attributes
}: Partial<Record<(typeof RESOURCE_FIELDS)[number], string>>): ResourceAttributes {
  if (tenant === '') return attributes;
  if (isTenantName(tenant)) return { ...attributes, tenant };
  throw malformed("the field tenant is no tenant's name");
}

/** @returns why the scope of an access token does not cover what is asked; undefined if it does */
export function outsideScopeReason(
  asked: AccessQuestion,
  outgoing: Outgoing,
  { reviewTenant }: Pick<TenancyMode, 'reviewTenant'>,
): string | undefined {
  const question =
    'resourceAttributes' in asked
      ? reviewedQuestion(asked.resourceAttributes, reviewTenant(actingTenant(outgoing)) ?? '')
      : { verb: '', path: '', ...asked.nonResourceAttributes };
  return outsideReason(outgoing.identity.accessToken, question);
}

/** @throws StatusError BodyMalformed */
export function rulesNamespace(spec: JSONObject): string {
  return strings(spec, ['namespace']).namespace ?? '';
}

function strings<K extends string>(source: unknown, keys: readonly K[]): Partial<Record<K, string>> {
  const fields = objectOf(source, 'the attributes');
  const result: Partial<Record<K, string>> = {};
  for (const key of keys) {
    const value = fields[key];
    if (isAbsent(value)) continue;
    if (typeof value !== 'string') throw malformed(`the field ${key} is no string`);
    result[key] = value;
  }
  return result;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/**
 * The user that Stonegate would send. As in kube-apiserver, this kind alone says when it was made, to the
 * second.
 */
export function answerSubject(outgoing: Outgoing, clock: Clock): UpstreamResponse {
  return jsonResponse(201, {
    kind: 'SelfSubjectReview',
    apiVersion: apiVersionOf(outgoing),
    metadata: { creationTimestamp: timestamp(clock.now()) },
    status: { userInfo: withoutEmpty(outgoing.user) },
  });
}

function withoutEmpty({ username, uid, groups, extra }: UserInfo): Partial<UserInfo> {
  return {
    username,
    ...(uid === '' ? {} : { uid }),
    groups,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

export function accessReview(
  outgoing: Outgoing,
  spec: AccessQuestion,
  { unknownFields: _, ...status }: ReviewedStatus,
): UpstreamResponse {
  return jsonResponse(201, {
    kind: 'SelfSubjectAccessReview',
    apiVersion: apiVersionOf(outgoing),
    metadata: {},
    spec,
    status,
  });
}

/** The API version of a review, as the client sent it. */
export function apiVersionOf({ info }: Pick<Outgoing, 'info'>): string {
  return info.isResourceRequest ? `${info.apiGroup}/${info.apiVersion}` : '';
}
