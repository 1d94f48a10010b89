/**
 * Questions about oneself name the namespace in their body. Whose roles are looked up, those that count are the ones of
 * that namespace: `kubectl auth can-i` is to say what a request there would meet.
 */
import type { RoleLookup } from '../bindings/role-lookup.ts';
import type { Outgoing } from './request-state.ts';
import { concernOf } from './role-concern.ts';
import { impersonateRequest, type Stages } from './stages.ts';

/**
 * @param namespace empty for the cluster or the tenant as a whole
 * @returns the same request, as whom a request there would go out
 * @throws StatusError KeystoneUnavailable, IdentityUnusable, and as `impersonateRequest` does
 */
export type AskedAbout = (outgoing: Outgoing, namespace: string) => Promise<Outgoing>;

export function createAskedAbout(
  roles: RoleLookup,
  stages: Pick<Stages, 'mode' | 'maxHeaderBytes'>,
): AskedAbout {
  return async (outgoing, namespace) => {
    const { proven, info, tenant, impersonator } = outgoing;
    // Of whom somebody acts as no roles are known: the question is about the rights they were given by name.
    if (impersonator !== undefined) return outgoing;
    if (proven.assignmentsOf === undefined || !info.isResourceRequest) return outgoing;
    const concern = concernOf({ ...info, namespace }, proven, tenant, stages.mode);
    const identity = await roles.inScope(proven, concern);
    if (identity === outgoing.identity) return outgoing;
    return impersonateRequest({ ...outgoing, identity, user: stages.mode.userOf(identity, tenant) }, stages);
  };
}
