/**
 * The only way to an `Authorized` request: through every authorizer.
 */
import { type AuthorizationAttributes, type Authorizer, authorize } from '../authorization/authorizer.ts';
import type { Authorized, Scoped } from './request-state.ts';

/** @throws StatusError as the authorizers do */
export async function asAuthorized(
  scoped: Scoped,
  authorizers: readonly Authorizer[],
  attributes: AuthorizationAttributes,
): Promise<Authorized> {
  await authorize(authorizers, attributes);
  return { ...scoped, authorized: true };
}
