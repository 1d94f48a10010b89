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
  /** What the audit log has of the refusal beside the message; text of clients in it is untrusted. */
  readonly auditAnnotations?: Readonly<Record<string, string>>;
}

export class StatusError extends Error {
  readonly code: ErrorCode;
  readonly details: StatusDetails | undefined;
  readonly allow: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;

  /** @param message shown to the client, in apimachinery's words where it has some */
  constructor(code: ErrorCode, message: string, options: StatusErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'StatusError';
    this.code = code;
    this.details = options.details;
    this.allow = options.allow ?? [];
    this.auditAnnotations = options.auditAnnotations ?? {};
  }

  /** The same refusal with more annotations; those that are there stay. */
  annotated(annotations: Readonly<Record<string, string>>): StatusError {
    const { code, message, details, allow, cause, auditAnnotations } = this;
    return new StatusError(code, message, {
      ...(details && { details }),
      ...('cause' in this && { cause }),
      allow,
      auditAnnotations: { ...annotations, ...auditAnnotations },
    });
  }

  get http(): number {
    return CODES[this.code].http;
  }
}

/**
 * A name that an identity source gave and that no user may have. The audit log shows it: the event has no
 * user then.
 *
 * @param name as the source gave it
 */
export function refusedName(
  code: 'IdentityReserved' | 'IdentityUnusable',
  message: string,
  name: string,
): StatusError {
  return new StatusError(code, message, { auditAnnotations: { 'stonegate.dev/refused-name': name } });
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
