/**
 * Whether the API server's refusal of a request for a named object may be shown as the object's absence: only
 * if the index knows for certain that the user may not learn of the object. See docs/access.md.
 */
import { SERVICE_ACCOUNT_PREFIX } from '../../kubernetes/reserved-names.ts';
import type { AccessIndex, Verifier } from '../../rbac/access-index.ts';
import type { RBACUser, ResourceQuestion } from '../../rbac/attributes.ts';
import { allows } from '../../rbac/decide.ts';

export interface HiddenObjects {
  /** @param question of the refused request; its object has a name */
  isHidden(user: RBACUser, question: ResourceQuestion): boolean;
}

export function createHiddenObjects(access: AccessIndex, verifier: Pick<Verifier, 'sample'>): HiddenObjects {
  return {
    isHidden(user, question) {
      // Controllers create what they take for missing.
      if (user.username.startsWith(SERVICE_ACCOUNT_PREFIX)) return false;
      const { tenant } = user;
      if (access.incompleteReason(tenant, { namespace: question.namespace }) !== undefined) return false;
      const get: ResourceQuestion = { ...question, verb: 'get', subresource: '' };
      if (allows(access.index, user, question) || allows(access.index, user, get)) return false;
      verifier.sample(user, get, false);
      return true;
    },
  };
}
