/**
 * Why the rules of one user may lack something, or say too much, although the index is current: one sentence
 * for users, without a full stop.
 */
import { type AuthorizationMode, isRBACAlone } from '../api/authorization-mode.ts';
import type { SubjectByNamespace } from '../rbac/attributes.ts';
import { LEFT_OUT, leftOutIn } from './index-state.ts';
import type { AccessIndex } from './ports.ts';

export interface RulesTrust {
  readonly access: AccessIndex;
  /** As the operator states them. */
  readonly authorizers: readonly AuthorizationMode[];
}

/** @returns undefined if the rules are all that the user may do */
export function doubtAbout(
  subject: SubjectByNamespace,
  { access: { index }, authorizers }: RulesTrust,
): string | undefined {
  if (index.isPartialFor(subject)) return LEFT_OUT;
  const undecided = index.undecidedNamespaces(subject);
  return undecided.length > 0 ? leftOutIn(undecided) : rightsOutsideRBAC(authorizers);
}

/** @returns why requests of the user are answered as if there were no index; undefined if they are not */
export function doubtAboutIndex(
  subject: SubjectByNamespace,
  { access }: Pick<RulesTrust, 'access'>,
): string | undefined {
  return access.incompleteReason() ?? (access.index.isPartialFor(subject) ? LEFT_OUT : undefined);
}

/** @returns why a user may have rights that no RBAC object grants; undefined if that cannot be */
function rightsOutsideRBAC(authorizers: readonly AuthorizationMode[]): string | undefined {
  if (isRBACAlone(authorizers)) return undefined;
  if (authorizers.length === 0)
    return "Stonegate's operator has not stated in access.authorizers that RBAC alone decides; another authorizer may allow more";
  return `access.authorizers names ${authorizers.join(', ')}; others than RBAC may decide otherwise`;
}
