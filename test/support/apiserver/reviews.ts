/**
 * Reviews: TokenReview, the access and rules reviews, and SelfSubjectReview. In Arktos the tenant of a review
 * is that of its attributes, and a review of another tenant, or of none, is denied.
 */
import type { Cluster } from './cluster.ts';
import { type JsonObject, objectAt, textAt, textsAt } from './json.ts';
import type { Rule } from './rbac.ts';
import { ApiError, badRequest } from './statuses.ts';
import { audiencesOf, tenantOfName, type User, userOfToken } from './users.ts';

const CREATED = { metadata: { creationTimestamp: null } };

/** @returns the review with its status; undefined if the resource is not a review */
export function answerReview(
  cluster: Cluster,
  user: User,
  kind: string,
  namespace: string,
  review: JsonObject,
): JsonObject | undefined {
  const spec = objectAt(review, 'spec');
  const answered = { kind, apiVersion: textAt(review, 'apiVersion'), ...CREATED };
  switch (kind) {
    case 'TokenReview':
      return { ...answered, spec, status: reviewToken(cluster, spec) };
    case 'SelfSubjectAccessReview':
      return { ...answered, spec, status: reviewAccess(cluster, user, spec) };
    case 'SubjectAccessReview':
      return { ...answered, spec, status: reviewAccess(cluster, subjectOf(cluster, spec), spec) };
    case 'LocalSubjectAccessReview': {
      const asked = textAt(objectAt(spec, 'resourceAttributes'), 'namespace');
      if (cluster.flavour === 'arktos' && asked !== textAt(objectAt(review, 'metadata'), 'namespace')) {
        const field = `spec.resourceAttributes.namespace: Invalid value: "${asked}"`;
        const message = `.authorization.k8s.io "" is invalid: ${field}: must match metadata.namespace`;
        throw new ApiError(422, 'Invalid', message, {});
      }
      if (asked !== namespace) throw badRequest('spec.resourceAttributes.namespace must match namespace');
      return { ...answered, spec, status: reviewAccess(cluster, subjectOf(cluster, spec), spec) };
    }
    case 'SelfSubjectRulesReview':
      return {
        ...answered,
        spec: {},
        status: reviewRules(cluster.rbac.rulesFor(user, textAt(spec, 'namespace'))),
      };
    case 'SelfSubjectReview':
      return { ...answered, status: { userInfo: describeUser(user) } };
    default:
      return undefined;
  }
}

/**
 * The user of a token and its audiences: those that the review names, if it names any; Arktos reports no
 * others. The tenant is not reported.
 */
function reviewToken({ tokens, flavour }: Cluster, spec: JsonObject): JsonObject {
  const token = textAt(spec, 'token');
  const asked = textsAt(spec, 'audiences');
  const user = userOfToken(tokens, token, flavour, asked.length === 0 ? undefined : asked);
  const known = tokens.get(token);
  if (user === undefined || known === undefined) return { user: {}, error: 'invalid bearer token' };
  const audiences = audiencesOf(known).filter((one) => asked.length === 0 || asked.includes(one));
  return {
    authenticated: true,
    user: describeUser(user),
    ...((flavour === 'kubernetes' || asked.length > 0) && { audiences: [...audiences] }),
  };
}

function describeUser(user: User): JsonObject {
  const extra = Object.entries(user.extra).map(([key, values]): [string, string[]] => [key, [...values]]);
  return {
    username: user.username,
    ...(user.uid === '' ? {} : { uid: user.uid }),
    groups: [...user.groups],
    ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

function subjectOf(cluster: Cluster, spec: JsonObject): User {
  const username = textAt(spec, 'user');
  const groups = textsAt(spec, 'groups');
  if (username === '' && groups.length === 0)
    throw invalidReview('at least one of user or group must be specified');
  const extra = Object.entries(objectAt(spec, 'extra')).map(
    ([key]) => [key, textsAt(objectAt(spec, 'extra'), key)] as const,
  );
  return {
    username,
    uid: textAt(spec, 'uid'),
    groups,
    extra: Object.fromEntries(extra),
    tenant: cluster.flavour === 'arktos' ? tenantOfName(username) : '',
  };
}

function invalidReview(message: string): ApiError {
  return new ApiError(422, 'Invalid', `spec: Invalid value: ${message}`, {});
}

function reviewAccess(cluster: Cluster, user: User, spec: JsonObject): JsonObject {
  const isResourceRequest = 'resourceAttributes' in spec;
  if (isResourceRequest === 'nonResourceAttributes' in spec)
    throw invalidReview('exactly one of nonResourceAttributes or resourceAttributes must be specified');
  const attributes = objectAt(spec, isResourceRequest ? 'resourceAttributes' : 'nonResourceAttributes');
  const verdict = cluster.rbac.authorize({
    user,
    isResourceRequest,
    verb: textAt(attributes, 'verb'),
    tenant: textAt(attributes, 'tenant'),
    group: textAt(attributes, 'group'),
    resource: textAt(attributes, 'resource'),
    subresource: textAt(attributes, 'subresource'),
    namespace: textAt(attributes, 'namespace'),
    name: textAt(attributes, 'name'),
    path: textAt(attributes, 'path'),
  });
  return {
    allowed: verdict.allowed,
    ...(verdict.denied ? { denied: true } : {}),
    ...(verdict.reason === '' ? {} : { reason: verdict.reason }),
  };
}

function reviewRules(rules: readonly Rule[]): JsonObject {
  const list = (key: string, values: readonly string[]): JsonObject =>
    values.length === 0 ? {} : { [key]: [...values] };
  return {
    resourceRules: rules
      .filter(({ resources }) => resources.length > 0)
      .map((rule) => ({
        verbs: [...rule.verbs],
        ...list('apiGroups', rule.apiGroups),
        ...list('resources', rule.resources),
        ...list('resourceNames', rule.resourceNames),
      })),
    nonResourceRules: rules
      .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
      .map((rule) => ({ verbs: [...rule.verbs], nonResourceURLs: [...rule.nonResourceURLs] })),
    incomplete: false,
  };
}
