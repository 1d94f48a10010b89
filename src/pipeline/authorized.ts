/**
 * The only way to an `Authorized` request: through every authorizer.
 */
import { type AuthorizationAttributes, type Authorizer, authorize } from '../authorization/authorizer.ts';
import type { Authorized, Scoped } from './request-state.ts';

/** @throws StatusError as the authorizers do */
export function asAuthorized(
  scoped: Scoped,
  authorizers: readonly Authorizer[],
  attributes: AuthorizationAttributes,
): Promise<Authorized> | Authorized {
  const asked = authorize(authorizers, attributes);
  const authorized: Authorized = { ...scoped, authorized: true };
  return asked === undefined ? authorized : asked.then(() => authorized);
}
