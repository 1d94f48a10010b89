/**
 * Arktos answers an access review of a tenant's user about any user in any tenant: it takes the tenant that
 * the body names, not the path's. So a review is forwarded about a user of the caller's tenant only, and with
 * that tenant in it. A user's tenant is the text before the first colon of the name.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
 */
import { fieldOf, objectOf, textOf } from '../../kubernetes/body-fields.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { BodyRule } from '../../proxy/body-rule.ts';
import { bodyForbidden } from '../../proxy/body-rule.ts';

export interface AccessReviewsOptions {
  /** Whether the tenant's users may act in no other tenant. */
  readonly isConfined: (tenant: TenantName) => boolean;
}

const GROUP = 'authorization.k8s.io';
const MAX_BYTES = 64 * 1024;
/** Reviews that name a user. */
const OF_USERS = ['subjectaccessreviews', 'localsubjectaccessreviews'];
/** Reviews of oneself are forwarded only in forms that Stonegate does not answer itself. */
const REVIEWS = [...OF_USERS, 'selfsubjectaccessreviews'];

export function createAccessReviewsRule({ isConfined }: AccessReviewsOptions): BodyRule {
  return {
    maxBytes: MAX_BYTES,
    formats: new Set(['object']),
    appliesTo: ({ apiGroup, resource }, tenant) =>
      apiGroup === GROUP && REVIEWS.includes(resource) && isConfined(tenant),
    admit({ content }, request) {
      const { info, tenant } = request;
      const review = objectOf(content, 'the body');
      const spec = objectOf(fieldOf(review, 'spec') ?? {}, 'spec');
      // No user, or a name without a colon, has no tenant: Arktos denies such a question whatever it is.
      if (OF_USERS.includes(info.resource) && !textOf(spec, 'user').startsWith(`${tenant}:`))
        throw bodyForbidden(
          request,
          `spec.user is no user of the tenant: its name has to begin with "${tenant}:"`,
        );
      const sent = fieldOf(spec, 'resourceAttributes');
      // A question about a path is the API server's to answer.
      if (sent === undefined) return undefined;
      const attributes = objectOf(sent, 'spec.resourceAttributes');
      const named = textOf(attributes, 'tenant');
      if (named !== '' && named !== tenant)
        throw bodyForbidden(request, 'spec.resourceAttributes.tenant is another tenant');
      return { ...review, spec: { ...spec, resourceAttributes: { ...attributes, tenant } } };
    },
  };
}
