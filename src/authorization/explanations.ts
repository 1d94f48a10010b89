/**
 * Only users whom the API server lets `create explanations.stonegate.dev` for the whole cluster may explain
 * requests of other users. An explanation has causes that clients are not told, so the right is reviewed
 * outside every tenant: a wildcard in a tenant's own role does not grant it.
 */
import type { TenantName } from '../api/identity.ts';
import type { ResourceRequest } from '../api/request-info.ts';
import { forbidden } from '../errors/forbidden.ts';
import { type AccessReviewer, reviewOf } from './access-reviewer.ts';
import type { AuthorizationAttributes, Authorizer } from './authorizer.ts';

export interface ExplanationsOptions {
  readonly reviewer: AccessReviewer;
  /** The tenant named in access reviews; undefined if the API server has no tenants. */
  readonly reviewTenant: (tenant: TenantName) => TenantName | undefined;
  readonly isSystem: (tenant: TenantName) => boolean;
}

export function createExplanationsAuthorizer(options: ExplanationsOptions): Authorizer {
  const { reviewer, reviewTenant, isSystem } = options;
  async function review(info: ResourceRequest, { user, tenant, sender, exchange }: AuthorizationAttributes) {
    const { apiGroup: group, apiVersion: version, resource, verb } = info;
    const home = reviewTenant(tenant);
    const place = isSystem(tenant) ? home : undefined;
    const resourceAttributes = {
      verb,
      group,
      version,
      resource,
      ...(place === undefined ? {} : { tenant: place }),
    };
    const subject = { user, sender, home, tenant };
    const { allowed, denied = false } = await reviewOf(
      reviewer,
      subject,
      { resourceAttributes },
      exchange.signal,
    );
    if (!allowed || denied) throw forbidden('AccessDenied', info, user.username, undefined);
  }

  return {
    name: 'explanations',
    authorize(attributes) {
      const { info } = attributes;
      if (!info.isResourceRequest || info.apiGroup !== 'stonegate.dev' || info.resource !== 'explanations')
        return undefined;
      return review(info, attributes);
    },
  };
}
