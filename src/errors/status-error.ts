/**
 * The error that Stonegate throws to refuse a request. The message is sent to the client and never contains
 * a secret or the text of a backend; `cause` is for the operator's log only.
 */

import { CODES, type ErrorCode } from './codes.ts';
import type { StatusDetails } from './status.ts';

export interface StatusErrorOptions {
  readonly details?: StatusDetails;
  /** The allowed methods, for `MethodNotAllowed`. */
  readonly allow?: readonly string[];
  readonly cause?: unknown;
  /** Added to the audit event. Values may contain untrusted text of the client. */
  readonly auditAnnotations?: Readonly<Record<string, string>>;
}

export class StatusError extends Error {
  readonly code: ErrorCode;
  readonly details: StatusDetails | undefined;
  readonly allow: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;

  /** @param message sent to the client, in apimachinery's words if it has any */
  constructor(code: ErrorCode, message: string, options: StatusErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'StatusError';
    this.code = code;
    this.details = options.details;
    this.allow = options.allow ?? [];
    this.auditAnnotations = options.auditAnnotations ?? {};
  }

  /** A copy with further annotations; existing ones are not replaced. */
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
 * A name from an identity source that no user may have. The audit event shows it, because it has no user.
 *
 * @param name as given by the source
 */
export function refusedName(
  code: 'IdentityReserved' | 'IdentityUnusable',
  message: string,
  name: string,
): StatusError {
  return new StatusError(code, message, { auditAnnotations: { 'stonegate.dev/refused-name': name } });
}

/**
 * 404 with the API server's message for a path that it does not serve.
 *
 * @param because continues the message
 */
export function pathNotFound(because = ''): StatusError {
  return new StatusError('NotFound', `the server could not find the requested resource${because}`);
}

/**
 * 405 with the API server's message.
 *
 * @param because continues the message
 */
export function methodNotAllowed(allow: readonly string[], because = ''): StatusError {
  const message = `the server does not allow this method on the requested resource${because}`;
  return new StatusError('MethodNotAllowed', message, { allow });
}

/** Ends a message about what users cannot correct. */
export const ONLY_OPERATOR = "; only Stonegate's operator can mend that";

/** The message with that of its cause, for the operator only: one line, no stack. */
export function reasonOf({ message, cause }: Error): string {
  const reason = message.replace(ONLY_OPERATOR, '');
  return cause instanceof Error ? `${reason}: ${cause.message}` : reason;
}

/**
 * 401 with the API server's message. Only the operator may learn why a credential failed.
 *
 * @param cause for the log
 */
export function unauthorized(cause?: unknown): StatusError {
  return new StatusError('CredentialInvalid', 'Unauthorized', { cause });
}

/** The error's text is for the log: its client has left. */
export function cancelled({ reason }: AbortSignal): StatusError {
  return new StatusError('UpstreamUnavailable', 'the client has cancelled the request', { cause: reason });
}
