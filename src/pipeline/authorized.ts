/**
 * The only way to an `Authorized` request: through every authorizer.
 */
import { type Authorizer, authorize } from '../authorization/authorizer.ts';
import type { Authorized, Passage, Scoped } from './request-state.ts';

/** @throws StatusError as the authorizers do */
export function asAuthorized(
  scoped: Scoped,
  authorizers: readonly Authorizer[],
): Promise<Authorized> | Authorized {
  const asked = authorize(authorizers, scoped);
  return asked === undefined ? marked(scoped) : asked.then(() => marked(scoped));
}

function marked(scoped: Scoped): Authorized {
  becomeAuthorized(scoped);
  return scoped;
}

function becomeAuthorized(scoped: Scoped): asserts scoped is Authorized {
  const passage: Passage = scoped;
  passage.authorized = true;
}
