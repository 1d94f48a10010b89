/**
 * What the API server's responses to provisioning say: the object, or why there is none.
 */
import { StatusError } from '../errors/status-error.ts';
import { type JSONObject, readJSONObject } from '../lib/json-object.ts';
import type { UpstreamResponse } from './upstream-ports.ts';

/** @throws StatusError UpstreamUnavailable */
export function objectIn({ body }: UpstreamResponse): JSONObject {
  const object = readJSONObject(body);
  if (object !== undefined) return object;
  throw unusable(new Error('it is no object'));
}

/** The reason of the Status in a response, if it is one. */
export function reasonOf({ body }: UpstreamResponse): unknown {
  return readJSONObject(body)?.reason;
}

/** @returns undefined if the response is not a Status */
function messageOf({ body }: UpstreamResponse): string | undefined {
  const message = readJSONObject(body)?.message;
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
