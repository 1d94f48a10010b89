/**
 * The one kind of error Stonegate throws on purpose: a refusal that a person is meant to read.
 * Its message goes to the client, so it never holds a secret or a backend's own words; what only the operator
 * may know travels as `cause` and goes to the log.
 */
import type { StatusDetails } from '../api/meta-v1.ts';
import { CODES, type ErrorCode } from './codes.ts';

export interface StatusErrorOptions {
  readonly details?: StatusDetails;
  /** The methods that the resource has, for a `MethodNotAllowed`. */
  readonly allow?: readonly string[];
  readonly cause?: unknown;
}

export class StatusError extends Error {
  readonly code: ErrorCode;
  readonly details: StatusDetails | undefined;
  readonly allow: readonly string[];

  /** @param message shown to the client, in apimachinery's words where it has some */
  constructor(code: ErrorCode, message: string, options: StatusErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'StatusError';
    this.code = code;
    this.details = options.details;
    this.allow = options.allow ?? [];
  }

  get http(): number {
    return CODES[this.code].http;
  }
}

/** What went wrong with what lies behind it, for the operator alone: on one line, without a stack. */
export function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

/**
 * 401 in the API server's own, bare word: why a credential failed is nobody's business but the operator's.
 *
 * @param cause for the log
 */
export function unauthorized(cause?: unknown): StatusError {
  return new StatusError('CredentialInvalid', 'Unauthorized', { cause });
}
