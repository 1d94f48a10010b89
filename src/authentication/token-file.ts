/**
 * Authenticates by the tokens of a file. They are found by a keyed digest, so that the time of a look-up tells nothing
 * about how far a guess was right.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#static-token-file
 */
import { createHmac } from 'node:crypto';
import type { StaticToken, StaticUser } from '../api/credentials.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { Random } from '../lib/random.ts';
import type { Authenticator } from './authenticator.ts';
import { identityOfStaticUser } from './static-identity.ts';
import type { TokenCredential } from './token-credential.ts';

export interface TokenFileOptions {
  /** No two with the same token. */
  readonly entries: readonly StaticToken[];
  readonly random: Random;
}

/** Takes only the tokens it has: every other may be somebody else's. */
export function createTokenFileAuthenticator({ entries, random }: TokenFileOptions): Authenticator {
  const key = random.bytes(32);
  const digest = (token: string) => createHmac('sha256', key).update(token).digest('base64');
  const users = new Map<string, StaticUser>(entries.map(({ token, user }) => [digest(token), user]));
  const identityOf = identityOfStaticUser('token-file');
  /** Once for a credential that comes with every request of a connection. */
  const userOf = memoizeByReference(({ token }: TokenCredential) => users.get(digest(token)));
  return {
    name: 'token-file',
    takes: 'tokens of the token file',
    authenticate(credential) {
      if (credential.kind !== 'bearer') return undefined;
      const user = userOf(credential);
      return user && identityOf(user);
    },
  };
}
