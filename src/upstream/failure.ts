/**
 * What a failed call means to the client. The errors' own messages are only logged, since they contain
 * addresses and certificates.
 */
import { ONLY_OPERATOR, StatusError } from '../errors/status-error.ts';
import { codeOf } from '../lib/error-code.ts';
import type { Logger } from '../lib/logger.ts';
import type { BackendResult } from '../lib/telemetry.ts';
import { Http1Error } from './http1/errors.ts';

/** @param cause for the log */
export function unavailable(cause: unknown): StatusError {
  return new StatusError('UpstreamUnavailable', 'the API server cannot be reached at the moment', {
    cause: untrustedCertificate(cause) ?? cause,
  });
}

/** Chains without a trusted CA: https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const UNTRUSTED: ReadonlySet<unknown> = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
]);

/** Names the field to correct, for the log and `stonegate check`; the client's message does not change. */
function untrustedCertificate(cause: unknown): Error | undefined {
  if (!(cause instanceof Error && 'code' in cause && UNTRUSTED.has(cause.code))) return undefined;
  const message = `the API server's certificate is not trusted by upstream.caFile (without it: by Node's CAs): ${cause.message}`;
  return Object.assign(new Error(message, { cause }), { code: cause.code });
}

/** @param cause for the log: which timeout it was */
export function timedOut(cause: unknown): StatusError {
  return new StatusError('UpstreamTimeout', 'the API server did not answer in time', { cause });
}

export function tooMany(what: string): string {
  return `Too many requests, please try again later: ${what}`;
}

/** @param does of the tenant */
export function tenantOverRate(tenant: string, does: string): StatusError {
  return new StatusError('TenantRateExceeded', tooMany(`the tenant ${JSON.stringify(tenant)} ${does}`));
}

export function tenantQueueFull(tenant: string): StatusError {
  return tenantOverRate(tenant, 'has too many requests waiting for the API server');
}

export function stonegateQueueFull(): StatusError {
  return unavailable("too many of Stonegate's own requests wait");
}

/** @returns the error itself if it is a StatusError */
export function toStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof Http1Error) {
    switch (error.code) {
      case 'QUEUE_TIMEOUT':
        return timedOut(error.message);
      case 'REQUEST_INVALID':
        return invalidRequest(error);
      case 'BODY_LENGTH_MISMATCH':
        return new StatusError('RequestMalformed', error.message);
      default:
        return unavailable(error);
    }
  }
  return isInvalidForNode(error) ? invalidRequest(error) : unavailable(error);
}

/** An error by which Node's own client refuses a head. */
function isInvalidForNode(error: unknown): boolean {
  const code = codeOf(error);
  return (
    code === 'ERR_INVALID_CHAR' || code === 'ERR_INVALID_HTTP_TOKEN' || code === 'ERR_UNESCAPED_CHARACTERS'
  );
}

/** The proxy should have refused the request. */
function invalidRequest(cause: unknown): StatusError {
  return new StatusError('InvariantBroken', 'Internal error occurred: the request cannot be sent on', {
    cause,
  });
}

/** The failure as the metrics count it. */
export function backendResult({ code }: StatusError): BackendResult {
  if (code === 'UpstreamTimeout') return 'timeout';
  return code === 'UpstreamRefusedCredential' ? 'refused' : 'error';
}

/**
 * Which responses are not forwarded, by their status alone: an unknown status, and a 401 about Stonegate's
 * own credential. The API server never asks an impersonated user for a credential; passed on, its 401 would
 * make clients discard their tokens. Headers are not considered: a workload behind `proxy` chooses them.
 *
 * @param status a final one
 * @param refusalIsClients whether a 401 concerns the client: a workload responded, or the client's own token
 *   was refused
 * @returns undefined for a response that is forwarded
 */
export function responseFault(
  status: number,
  refusalIsClients: boolean,
  logger: Logger,
): StatusError | undefined {
  if (status < 200 || status > 599) {
    logger.warn({ status }, 'the API server responded with a status that HTTP does not define');
    return unavailable(`it responded with the status ${status}, which HTTP does not define`);
  }
  if (status !== 401 || refusalIsClients) return undefined;
  return new StatusError(
    'UpstreamRefusedCredential',
    `the API server refused Stonegate's own credential${ONLY_OPERATOR}`,
  );
}
