/**
 * Why the rules of one user may lack something: one sentence for users, without a full stop.
 */
import { type AuthorizationMode, isRBACAlone } from '../kubernetes/authorization-mode.ts';
import type { AccessIndex } from './access-index.ts';
import type { Scope } from './attributes.ts';

export interface RulesTrust {
  readonly access: AccessIndex;
  /** As the operator states them. */
  readonly authorizers: readonly AuthorizationMode[];
}

/**
 * @param tenant whose bindings count; empty if the API server has no tenants
 * @returns undefined if the rules are all that the user may do
 */
export function doubtAbout(
  tenant: string,
  scope: Scope,
  { access, authorizers }: RulesTrust,
): string | undefined {
  return access.incompleteReason(tenant, scope) ?? rightsOutsideRBAC(authorizers);
}

/** @returns why a user may have rights that no RBAC object grants; undefined if that cannot be */
function rightsOutsideRBAC(authorizers: readonly AuthorizationMode[]): string | undefined {
  if (isRBACAlone(authorizers)) return undefined;
  if (authorizers.length === 0)
    return "Stonegate's operator has not stated in access.authorizers that RBAC alone decides; another authorizer may allow more";
  return `access.authorizers names ${authorizers.join(', ')}; others than RBAC may decide otherwise`;
}
