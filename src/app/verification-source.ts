/**
 * What the API server says, for the comparison with the RBAC index: access reviews, and its revision, which
 * is that of a list. All of it is charged to Stonegate's own account.
 */
import type { VerificationSource } from '../access/ports.ts';
import { STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import type { AccessAttributes, AccessReviewer } from '../authorization/access-reviewer.ts';
import { readCurrentRevision } from '../clients/list-pages.ts';
import { StatusError } from '../errors/status-error.ts';
import type { UpstreamFetcher } from '../pipeline/ports.ts';
import type { Question } from '../rbac/attributes.ts';
import { toTenantName } from '../tenancy/tenant-name.ts';

export interface VerificationSourceOptions {
  readonly reviewer: Pick<AccessReviewer, 'review'>;
  readonly fetcher: UpstreamFetcher;
  /** Whether the API server is an Arktos. */
  readonly hasTenants: boolean;
}

export function createVerificationSource(options: VerificationSourceOptions): VerificationSource {
  const { reviewer, fetcher, hasTenants } = options;
  const path = `/api/v1/${hasTenants ? 'tenants/all/' : ''}namespaces`;
  return {
    async review({ username, groups }, question, signal) {
      const user = { username, uid: '', groups, extra: {} };
      const reviewed = await reviewer.review(user, attributesOf(question), STONEGATE_ACCOUNT, signal);
      if (reviewed.unknownFields !== undefined) return 'unknown';
      if (reviewed.allowed) return 'allowed';
      // In Arktos a denial says that the tenant is another than the index has: no other authorizer is meant.
      return reviewed.denied === true && !hasTenants ? 'denied' : 'notAllowed';
    },
    async revision(signal) {
      try {
        return await readCurrentRevision(fetcher, path, signal);
      } catch (cause) {
        if (cause instanceof StatusError) throw cause;
        throw new StatusError('UpstreamUnavailable', "the API server's list of namespaces is unusable", {
          cause,
        });
      }
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
