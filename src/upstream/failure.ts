/**
 * What the errors of sockets, TLS and malformed answers mean to a client. Their own words stay in the log: they hold
 * addresses and certificates that are nobody's business.
 */
import { StatusError } from '../errors/status-error.ts';
import type { BackendResult } from '../lib/telemetry.ts';

/** @param cause for the log */
export function unavailable(cause: unknown): StatusError {
  return new StatusError('UpstreamUnavailable', 'the API server cannot be reached at the moment', { cause });
}

/** @param cause for the log: which of the waits was too long */
export function timedOut(cause: unknown): StatusError {
  return new StatusError('UpstreamTimeout', 'the API server did not answer in time', { cause });
}

/** The API server's 401 concerns Stonegate, not its client: passed on, it would make clients throw their tokens away. */
export function refusedCredential(): StatusError {
  return new StatusError(
    'UpstreamRefusedCredential',
    "the API server refused Stonegate's own credential; only Stonegate's operator can mend that",
  );
}

/** What HTTP cannot say is not sent; how it came so far is a fault of ours. */
export function unspeakable(cause?: unknown): StatusError {
  return new StatusError('InvariantBroken', 'Internal error occurred: the request cannot be sent on', {
    cause,
  });
}

/** @returns the error itself where it is a refusal already */
export function upstreamFailure(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  switch (codeOf(error)) {
    case 'ERR_INVALID_CHAR':
    case 'ERR_INVALID_HTTP_TOKEN':
    case 'ERR_UNESCAPED_CHARACTERS':
      return unspeakable(error);
    default:
      return unavailable(isUntrustedCertificate(error) ? untrustedCertificate(error) : error);
  }
}

/** The codes of Node's certificate verification: https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const UNTRUSTED = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
]);

function isUntrustedCertificate(error: unknown): error is Error {
  return error instanceof Error && UNTRUSTED.has(String(codeOf(error)));
}

/** Names the setting to correct, in the log and in `stonegate check`; the client's message stays the same. */
function untrustedCertificate(error: Error): Error {
  const message = `the API server's certificate is not trusted by upstream.caFile (without it: by the system's CAs): ${error.message}`;
  return new Error(message, { cause: error });
}

/** The failure as the metrics count it. */
export function callResultOf({ code }: StatusError): BackendResult {
  if (code === 'UpstreamTimeout') return 'timeout';
  return code === 'UpstreamRefusedCredential' ? 'refused' : 'error';
}

/** The connection went away; whether the request ever arrived is for the caller to know. */
export function isConnectionLoss(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'CONNECTION_LOST' || code === 'ECONNRESET' || code === 'EPIPE';
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
