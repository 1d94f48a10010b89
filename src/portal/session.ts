/**
 * What is remembered of somebody who has signed in: who the credential proved them to be, and no credential. Whoever
 * reads all sessions learns names, and can act as nobody. The Kubernetes identity is derived anew for each page, as the
 * API does it.
 */
import type { Identity } from '../api/identity.ts';

/** A project somebody may sign in to. */
export interface ProjectName {
  readonly id: string;
  readonly name: string;
}

export interface Session {
  readonly identity: Identity;
  /** The issuer, for those who signed in with one; else it was Keystone. */
  readonly issuer?: string;
  /** Keystone projects they may sign in to. */
  readonly projects: readonly ProjectName[];
  /** Milliseconds since the epoch; never beyond the credential's own end. */
  readonly expiresAt: number;
}

const ID_BYTES = 32;
const ID = /^[A-Za-z0-9_-]{43}$/;

/** An id that says nothing and cannot be guessed. */
export function newID(random: { bytes(size: number): Buffer }): string {
  return random.bytes(ID_BYTES).toString('base64url');
}

/** Whether a text from outside could be an id at all. */
export function isID(text: string | undefined): text is string {
  return text !== undefined && ID.test(text);
}
