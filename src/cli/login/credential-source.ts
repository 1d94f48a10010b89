/**
 * What `stonegate login` needs of a way to log in. The command itself asks the cache first, holds the lock against
 * other kubectl calls, and answers kubectl; a source only knows how to get a token.
 */
import type { Clock } from '../../lib/clock.ts';
import { type GivenFile, readGiven } from '../given-file.ts';

export interface ObtainedCredential {
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** What the source needs to renew it without asking the person: an OIDC refresh token. Secret. */
  readonly refreshToken?: string;
}

export interface CredentialSource {
  /** Everything that decides whose token it is, and no secret: provider, client, user, scope. */
  readonly identity: readonly string[];
  /**
   * Logs in, or renews `previous` where it can.
   *
   * @throws LoginError with a sentence for the person
   */
  obtain(terminal: Terminal, previous: ObtainedCredential | undefined): Promise<ObtainedCredential>;
}

/** The person in front of the command. Everything goes to standard error: standard output belongs to kubectl. */
export interface Terminal {
  /** Whether somebody can be asked: standard input and error are a terminal, and kubectl allows it. */
  readonly interactive: boolean;
  /** What a person types in a terminal for this same login; nothing secret. */
  readonly command: string;
  say(line: string): void;
  /**
   * What is typed is not shown.
   *
   * @throws LoginError where nobody can be asked
   */
  askHidden(question: string): Promise<string>;
  /** @returns false where no browser can be opened */
  openBrowser(url: string): Promise<boolean>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** What went wrong, in words a person can act on; never a secret. */
export class LoginError extends Error {}

// FROM src/cli/login/named-file.ts
/*!
 * A file that an option or a word of a cloud names, for a login: what is wrong with it is told as the login's own failure.
 */

/** @throws LoginError that names the option and the file */
export async function readGivenForLogin(given: GivenFile): Promise<string> {
  try {
    return await readGiven(given);
  } catch (error) {
    throw error instanceof Error ? new LoginError(error.message) : error;
  }
}
