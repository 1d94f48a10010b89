/**
 * The users of a token file or a basic-auth file, as `config/static-users.ts` reads them for the
 * authenticators.
 */

export interface StaticUser {
  /** The user's name with the configured prefix. */
  readonly name: string;
  readonly uid: string;
  /** The groups with the configured prefix. */
  readonly groups: readonly string[];
  readonly tenant: string;
}

export interface StaticToken {
  readonly token: string;
  readonly user: StaticUser;
}

export interface StaticPassword {
  /** The name that the client sends, without the prefix. */
  readonly login: string;
  readonly password: StoredPassword;
  readonly user: StaticUser;
}

export type StoredPassword =
  | { readonly kind: 'plain'; readonly password: string }
  /** The hash contains its salt and cost. */
  | { readonly kind: 'bcrypt'; readonly hash: string };
