/**
 * Why the rules of one user may lack something, or say too much, although the index is current: one sentence
 * for users, without a full stop.
 */
import { type AuthorizationMode, isRBACAlone } from '../api/authorization-mode.ts';
import type { SubjectByNamespace } from '../rbac/attributes.ts';
import { LEFT_OUT } from './index-state.ts';
import type { AccessIndex } from './ports.ts';
import type { Verifier } from './verification.ts';

export interface RulesTrust {
  readonly access: AccessIndex;
  /** Tells whether the index and the API server disagree about a user. */
  readonly verifier: Pick<Verifier, 'isSuspended'>;
  /** As the operator states them. */
  readonly authorizers: readonly AuthorizationMode[];
}

const DISAGREEMENT = 'the RBAC index and the API server disagree about the user';

/** @returns undefined if the rules are all that the user may do */
export function doubtAbout(
  subject: SubjectByNamespace,
  { access, verifier, authorizers }: RulesTrust,
): string | undefined {
  if (!verifier.isSuspended(subject)) return rightsOutsideRBAC(authorizers);
  return access.index.isPartialFor(subject) ? LEFT_OUT : DISAGREEMENT;
}

/** @returns why a user may have rights that no RBAC object grants; undefined if that cannot be */
function rightsOutsideRBAC(authorizers: readonly AuthorizationMode[]): string | undefined {
  if (isRBACAlone(authorizers)) return undefined;
  if (authorizers.length === 0)
    return "the operator has not stated the API server's authorizers; others than RBAC may allow more";
  return `the API server's authorizers are ${authorizers.join(', ')}; others than RBAC may decide otherwise`;
}
