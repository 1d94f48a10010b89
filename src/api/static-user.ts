/**
 * People written down in a token file or a basic-auth file, as `config/static-users.ts` read them.
 */

export interface StaticUser {
  /** With the configured prefix. */
  readonly name: string;
  readonly uid: string;
  /** With the configured prefix. */
  readonly groups: readonly string[];
  readonly tenant: string;
}

export interface StaticToken {
  readonly token: string;
  readonly user: StaticUser;
}

export interface StaticPassword {
  /** As it is typed at the log-in, without the prefix. */
  readonly login: string;
  readonly password: StoredPassword;
  readonly user: StaticUser;
}

export type StoredPassword =
  | { readonly kind: 'plain'; readonly password: string }
  /** With its own salt and cost in it. */
  | { readonly kind: 'bcrypt'; readonly hash: string }
  /** RFC 7914. */
  | {
      readonly kind: 'scrypt';
      readonly cost: number;
      readonly blockSize: number;
      readonly parallelization: number;
      readonly salt: Buffer;
      readonly hash: Buffer;
    };
