/**
 * Arktos answers an access review of a tenant's user about any user in any tenant: it takes the tenant that
 * the body names, not the path's. So each review is written anew: about the caller's tenant, and about a user
 * of it. A user's tenant is the text before the first colon of the name.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
 */

import { fieldOf, malformed, objectOf, textOf } from '../../kubernetes/body-fields.ts';
import type { ResourceRequest, TenantName } from '../../kubernetes/request-info.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import type { BodyRule, InspectedRequest } from '../../proxy/body-rule.ts';
import { bodyForbidden } from '../../proxy/body-rule.ts';

export interface AccessReviewsOptions {
  /** Whether the tenant's users may act in no other tenant, and the API server knows tenants at all. */
  readonly isConfined: (tenant: TenantName) => boolean;
}

const GROUP = 'authorization.k8s.io';
const MAX_BYTES = 64 * 1024;

const RESOURCE_FIELDS = ['namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'] as const;
const NON_RESOURCE_FIELDS = ['path', 'verb'] as const;

/**
 * Kinds by resource. The reviews of oneself are forwarded only in forms that Stonegate does not answer
 * itself.
 */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['subjectaccessreviews', 'SubjectAccessReview'],
  ['localsubjectaccessreviews', 'LocalSubjectAccessReview'],
  ['selfsubjectaccessreviews', 'SelfSubjectAccessReview'],
]);

export function createAccessReviewsRule({ isConfined }: AccessReviewsOptions): BodyRule {
  return {
    name: 'access-reviews',
    maxBytes: MAX_BYTES,
    formats: new Set(['object']),
    concerns: ({ apiGroup, resource }, tenant) =>
      apiGroup === GROUP && KINDS.has(resource) && isConfined(tenant),
    admit({ content }, request) {
      const { info, tenant } = request;
      const kind = KINDS.get(info.resource) ?? '';
      const review = objectOf(content, 'the body');
      const sent = textOf(review, 'kind');
      if (sent !== '' && sent !== kind) throw malformed(`its kind is not ${kind}`);
      const spec = objectOf(fieldOf(review, 'spec') ?? {}, 'spec');
      return {
        kind,
        apiVersion: `${info.apiGroup}/${info.apiVersion}`,
        ...metadataOf(review, kind),
        spec: { ...subjectOf(spec, kind, request), ...attributesOf(spec, tenant, request) },
      };
    },
  };
}

/** Arktos compares the namespace of a local review with that of its attributes, and does not fill it in. */
function metadataOf(review: JSONObject, kind: string): JSONObject {
  if (kind !== 'LocalSubjectAccessReview') return {};
  return { metadata: fieldsOf(objectOf(fieldOf(review, 'metadata') ?? {}, 'metadata'), ['namespace']) };
}

/** @throws StatusError AccessDenied for a user of another tenant, or of none */
function subjectOf(spec: JSONObject, kind: string, request: InspectedRequest): JSONObject {
  if (kind === 'SelfSubjectAccessReview') return {};
  const user = textOf(spec, 'user');
  // No user, or a name without a colon, has no tenant: Arktos denies such a question whatever it is.
  if (!user.startsWith(`${request.tenant}:`))
    throw bodyForbidden(
      request,
      `spec.user is no user of the tenant: its name has to begin with "${request.tenant}:"`,
    );
  const groups = fieldOf(spec, groupsField(request.info));
  const uid = textOf(spec, 'uid');
  return {
    user,
    ...(groups === undefined ? {} : { [groupsField(request.info)]: texts(groups, 'groups') }),
    ...(uid === '' ? {} : { uid }),
    ...extraOf(fieldOf(spec, 'extra')),
  };
}

/** The field was called `group` in v1beta1. */
function groupsField({ apiVersion }: ResourceRequest): string {
  return apiVersion === 'v1beta1' ? 'group' : 'groups';
}

function extraOf(value: unknown): JSONObject {
  if (value === undefined) return {};
  const entries = Object.entries(objectOf(value, 'extra'));
  return { extra: Object.fromEntries(entries.map(([key, values]) => [key, texts(values, 'extra')])) };
}

function attributesOf(spec: JSONObject, tenant: TenantName, request: InspectedRequest): JSONObject {
  const resource = fieldOf(spec, 'resourceAttributes');
  const nonResource = fieldOf(spec, 'nonResourceAttributes');
  if ((resource === undefined) === (nonResource === undefined))
    throw malformed('exactly one of spec.resourceAttributes and spec.nonResourceAttributes must be given');
  if (resource === undefined) {
    const attributes = objectOf(nonResource, 'spec.nonResourceAttributes');
    return { nonResourceAttributes: fieldsOf(attributes, NON_RESOURCE_FIELDS) };
  }
  const attributes = objectOf(resource, 'spec.resourceAttributes');
  const named = textOf(attributes, 'tenant');
  if (named !== '' && named !== tenant)
    throw bodyForbidden(request, 'spec.resourceAttributes.tenant is another tenant');
  return { resourceAttributes: { ...fieldsOf(attributes, RESOURCE_FIELDS), tenant } };
}

function fieldsOf(attributes: JSONObject, names: readonly string[]): JSONObject {
  const values = names.map((name) => [name, textOf(attributes, name)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== ''));
}

function texts(value: unknown, name: string): string[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw malformed(`the field ${name} is no list`);
  return value.map((one: unknown) => {
    if (typeof one !== 'string') throw malformed(`the field ${name} holds what is no string`);
    return one;
  });
}
