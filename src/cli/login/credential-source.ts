/**
 * The interface between `stonegate login` and a login method. The command handles the cache, the lock and
 * kubectl; a source only obtains a token.
 */
import type { Clock } from '../../lib/clock.ts';
import { ErrorWithRemarks } from '../command.ts';

export interface ObtainedCredential {
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Renews the token without asking the user. Secret. */
  readonly refreshToken?: string;
  /** Names the user and the scope of the token in words. The names are untrusted text. */
  readonly holder?: string;
}

export interface CredentialSource {
  /** Identifies the token without secrets: provider, client, user, scope. */
  readonly identity: readonly string[];
  /**
   * Logs in, or renews `previous` if possible.
   *
   * @throws LoginError with a sentence for the user
   */
  obtain(terminal: Terminal, previous: ObtainedCredential | undefined): Promise<ObtainedCredential>;
  /**
   * Ends at the provider what the credential can do there.
   *
   * @returns false if the token stays valid until it expires
   * @throws LoginError if the provider cannot be asked
   */
  revoke(terminal: Terminal, credential: ObtainedCredential): Promise<boolean>;
}

/** The user's terminal. All messages go to standard error, because standard output belongs to kubectl. */
export interface Terminal {
  /** Whether the user can be asked: standard input and error are a terminal, and kubectl allows it. */
  readonly interactive: boolean;
  /** The command line for the same login in a terminal; contains no secret. */
  readonly command: string;
  say(line: string): void;
  /**
   * Input is not echoed.
   *
   * @throws LoginError if the user cannot be asked
   */
  askHidden(question: string): Promise<string>;
  /** @returns false if no browser can be opened */
  openBrowser(url: string): Promise<boolean>;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Why the login failed, in words that the user can act on; never contains a secret. */
export class LoginError extends ErrorWithRemarks {}
