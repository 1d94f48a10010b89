/**
 * What the API server says, for the comparison with the RBAC index: access reviews, charged to Stonegate's
 * own account.
 */

import type { AccessAttributes, AccessReviewer } from '../../kubernetes/access-reviewer.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import type { VerificationSource } from '../../rbac/access-index.ts';
import type { Question } from '../../rbac/attributes.ts';
import { toTenantName } from '../../tenancy/tenant-name.ts';

export interface VerificationSourceOptions {
  readonly reviewer: Pick<AccessReviewer, 'review'>;
  /** Whether the API server is an Arktos. */
  readonly hasTenants: boolean;
}

export function createVerificationSource(options: VerificationSourceOptions): VerificationSource {
  const { reviewer, hasTenants } = options;
  return {
    async review({ username, groups }, question, signal) {
      const user = { username, uid: '', groups, extra: {} };
      const reviewed = await reviewer.review(user, attributesOf(question), STONEGATE_ACCOUNT, signal);
      if (reviewed.unknownFields !== undefined) return 'unknown';
      if (reviewed.allowed) return 'allowed';
      // In Arktos a denial says that the tenant is another than the index has: no other authorizer is meant.
      return reviewed.denied === true && !hasTenants ? 'denied' : 'notAllowed';
    },
  };
}

function attributesOf(question: Question): AccessAttributes {
  if ('path' in question) return { nonResourceAttributes: question };
  const { tenant, apiGroup, ...attributes } = question;
  const resourceAttributes = { ...attributes, group: apiGroup };
  return {
    resourceAttributes:
      tenant === '' ? resourceAttributes : { ...resourceAttributes, tenant: toTenantName(tenant) },
  };
}
