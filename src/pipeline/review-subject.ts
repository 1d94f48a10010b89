/**
 * About whom a self review is, if roles are looked up: the review names a namespace in its body, and the roles on that
 * namespace's project count. So `kubectl auth can-i` says how a request there would be decided.
 */
import type { RoleLookup } from '../bindings/role-lookup.ts';
import type { Outgoing } from './request-context.ts';
import { impersonate, roleScopeOf, type Stages } from './stages.ts';

/**
 * @param namespace empty for the cluster or the tenant as a whole
 * @returns the same request, as the user that a request in the namespace would be made as
 * @throws StatusError KeystoneUnavailable, IdentityUnusable, and as `impersonate` does
 */
export type ResolveReviewSubject = (outgoing: Outgoing, namespace: string) => Promise<Outgoing>;

export function createReviewSubjectResolver(
  roles: RoleLookup,
  stages: Pick<Stages, 'mode' | 'maxHeaderBytes'>,
): ResolveReviewSubject {
  return async (outgoing, namespace) => {
    const { proven, info, tenant, impersonator } = outgoing;
    // No roles are known of an impersonated user: the review is about the rights given to the name.
    if (impersonator !== undefined) return outgoing;
    if (proven.assignmentsOf === undefined || !info.isResourceRequest) return outgoing;
    const roleScope = roleScopeOf({ ...info, namespace }, proven, tenant, stages.mode);
    const identity = await roles.inScope(proven, roleScope);
    if (identity === outgoing.identity) return outgoing;
    // A copy: the request itself is recorded as its user's.
    return impersonate({ ...outgoing, identity, user: stages.mode.userOf(identity, tenant) }, stages);
  };
}
