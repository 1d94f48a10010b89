/**
 * The admission plugins that see the body of a request, for a tenancy mode.
 */
import { createAccessReviewsAdmission } from '../admission/access-reviews.ts';
import type { BodyAdmission } from '../admission/body-admission.ts';
import { createDefinitionScope } from '../admission/definition-scope.ts';
import { createRoleBindingsAdmission } from '../admission/role-bindings.ts';
import type { TenantName } from '../api/identity.ts';
import { type AccessReviewer, reviewOf } from '../authorization/access-reviewer.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';

export function bodyAdmissions(mode: TenancyMode, reviewer: AccessReviewer): BodyAdmission[] {
  const isConfined = (tenant: TenantName) =>
    mode.reviewTenant(tenant) !== undefined && !mode.isSystem(tenant);
  return [
    createAccessReviewsAdmission({ isConfined }),
    ...(mode.readsTenantFromPath ? [createDefinitionScope(mode)] : []),
    createRoleBindingsAdmission({
      isConfined,
      review({ user, sender, tenant, account, signal }, attributes) {
        const home = mode.reviewTenant(tenant);
        const resourceAttributes = { ...attributes, ...(home !== undefined && { tenant: home }) };
        return reviewOf(reviewer, { user, sender, home, account }, { resourceAttributes }, signal);
      },
    }),
  ];
}
