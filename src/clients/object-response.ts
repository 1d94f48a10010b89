/**
 * What the API server's responses to provisioning say: the object, or why there is none.
 */
import { StatusError } from '../errors/status-error.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import type { UpstreamResponse } from '../pipeline/ports.ts';

/** @throws StatusError UpstreamUnavailable */
export function objectIn({ body }: UpstreamResponse): JSONObject {
  const parsed = parse(body);
  if (isJSONObject(parsed)) return parsed;
  throw unusable(new Error('it is no object'));
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw unusable(cause);
  }
}

/** The Status in a response; empty if there is none. */
function statusOf({ body }: UpstreamResponse): JSONObject {
  try {
    const status: unknown = JSON.parse(body.toString('utf8'));
    return isJSONObject(status) ? status : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

/** The `reason` of the response's Status; empty if there is none. */
export function reasonOf(response: UpstreamResponse): string {
  const { reason } = statusOf(response);
  return typeof reason === 'string' ? reason : '';
}

/** @returns undefined if the response is not a Status */
function messageOf(response: UpstreamResponse): string | undefined {
  const { message } = statusOf(response);
  return typeof message === 'string' ? message : undefined;
}

export function forbidden(response: UpstreamResponse, what: string): StatusError {
  return new StatusError(
    'ProvisioningForbidden',
    'Service Unavailable: the API server does not let Stonegate provision this; its operator applies what `stonegate manifests rbac --config FILE --provisioner` prints',
    { cause: responseError(response, what) },
  );
}

/** A Status explains a refusal; any other response cannot be used. */
export function unexpected(response: UpstreamResponse, what: string): StatusError {
  const cause = responseError(response, what);
  const refuses = response.status >= 400 && response.status < 500 && messageOf(response) !== undefined;
  if (!refuses) return unusable(cause);
  return new StatusError('ProvisioningRefused', 'the API server refuses what provisioning asks for', {
    cause,
  });
}

function responseError(response: UpstreamResponse, what: string): Error {
  return new Error(`${what}: ${messageOf(response) ?? `the status was ${response.status}`}`);
}

export function unusable(cause: unknown): StatusError {
  return new StatusError(
    'UpstreamUnavailable',
    "Service Unavailable: the API server's answer to provisioning is unusable",
    { cause },
  );
}
