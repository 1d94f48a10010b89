/**
 * Says why RBAC allows a request or not, from the RBAC index. Explanations and Stonegate's own 403 show it.
 */

import type { ResourceAttributes } from '../kubernetes/authorization-v1.ts';
import type { Question, ResourceQuestion } from '../kubernetes/authorizer-attributes.ts';
import type { AccessIndex } from '../rbac/access-index.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { AuthorizationAttributes, DecidedInfo } from './authorizer.ts';
import { type KnownProjects, reasonFor } from './reasons.ts';
import { viewerOf } from './subject-owner.ts';

export interface ReasonedRequest
  extends Pick<AuthorizationAttributes, 'user' | 'tenant' | 'crossing' | 'identity'> {
  readonly info: DecidedInfo;
}

/**
 * @param allowed what the API server says
 * @returns undefined if the index says otherwise, has nothing to say, or is not current; and for a guest, who
 *   may not learn which roles the entered tenant has
 */
export type ReasonOf = (request: ReasonedRequest, allowed: boolean) => string | undefined;

/** @param isOperator whether the reasons are for an operator, not for the user of the request */
export function createReasonOf(
  access: AccessIndex,
  mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>,
  isOperator = false,
): ReasonOf {
  return ({ info, user, tenant, crossing, identity }, allowed) => {
    if (crossing !== undefined) return undefined;
    const viewer = { ...viewerOf(identity, user, tenant, mode), isOperator };
    return reasonFor(access, viewer, questionOf(info, viewer.user.tenant), allowed, projectsOf(identity));
  };
}

/** @param home the tenant in which the request acts; empty if the API server has no tenants */
export function questionOf(info: DecidedInfo, home: string): Question {
  return info.isResourceRequest ? resourceQuestion(info, home) : { verb: info.verb, path: info.rawPath };
}

/**
 * What an access review asks.
 *
 * @param home as for `questionOf`
 */
export function reviewedQuestion(attributes: ResourceAttributes, home: string): ResourceQuestion {
  const { verb = '', group = '', resource = '', subresource = '', ...place } = attributes;
  const { namespace = '', name = '', tenant = home } = place;
  return { verb, apiGroup: group, resource, subresource, namespace, name, tenant };
}

/** @param home the user's own tenant, empty if the API server has none */
export function resourceQuestion(
  info: Extract<DecidedInfo, { isResourceRequest: true }>,
  home: string,
): ResourceQuestion {
  const { verb, apiGroup, resource, subresource, namespace, name } = info;
  const tenant = info.tenant === '' ? home : info.tenant;
  return { verb, apiGroup, resource, subresource, namespace, name, tenant };
}

/** The project of the user's own scope. */
function projectsOf({ scope }: Identity): KnownProjects {
  const { kind, id, name } = scope ?? {};
  return kind === 'project' && id !== undefined && name !== undefined ? new Map([[id, name]]) : new Map();
}
