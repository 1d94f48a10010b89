/**
 * A token that is a credential, and the last one of each connection. A connection brings the same with nearly every
 * request, and as the same object: so what is derived from a token (its digest, whose kind it is) can be remembered with
 * it. Whether it is still good is never among that.
 */

export interface TokenCredential {
  readonly kind: 'bearer' | 'x-auth-token';
  readonly token: string;
}

/** The header field that carries it. */
export type TokenField = 'authorization' | 'x-auth-token';

/** Kept no longer than the connection. */
const lastOf = new WeakMap<
  object,
  { readonly field: TokenField; readonly value: string; readonly credential: TokenCredential }
>();

/**
 * @param value the whole of the field: in nothing may it differ from the one that is remembered
 * @returns undefined where the connection's last token was another
 */
export function heldToken(connection: object, field: TokenField, value: string): TokenCredential | undefined {
  const last = lastOf.get(connection);
  return last !== undefined && last.field === field && last.value === value ? last.credential : undefined;
}

export function holdToken(
  connection: object,
  field: TokenField,
  value: string,
  credential: TokenCredential,
): void {
  lastOf.set(connection, { field, value, credential });
}
