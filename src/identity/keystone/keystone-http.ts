/**
 * Sends one request to Keystone: with a timeout and a size limit, without redirects; the response must be a
 * JSON object. Keystone's errors have five shapes, and their messages may contain the token, so only the
 * status and the shape leave this file.
 * https://docs.openstack.org/api-ref/identity/v3/
 */

import { isUtf8 } from 'node:buffer';
import { type Dispatcher, Pool } from 'undici';
import { StatusError } from '../../errors/status-error.ts';
import { BackendCall } from '../../lib/backend-call.ts';
import { withDeadline } from '../../lib/clock.ts';
import { hasCode } from '../../lib/error-code.ts';
import { isJSONObject, type JSONObject, readJSONObject } from '../../lib/json-object.ts';
import type { Runtime } from '../../lib/runtime.ts';

/** Size limit of a response about one token or one user. */
const MAX_RESPONSE_BYTES = 1024 * 1024;
/** The response repeats the token in a header. */
const MAX_HEAD_BYTES = 64 * 1024;
const CONNECTIONS = 16;

export interface KeystoneHTTPOptions extends Pick<Runtime, 'clock' | 'telemetry'> {
  /** URL of the identity API, with or without `/v3`. */
  readonly url: string;
  /** PEM; if absent, those that Node trusts. */
  readonly ca?: string;
  /** Timeout of a request and its response, in milliseconds. */
  readonly timeout: number;
  /** Size limit of a response; 1 MiB by default. */
  readonly maxResponseBytes?: number;
  /** 16 by default, more than Keystone serves at once; further requests wait here. */
  readonly connections?: number;
}

export interface KeystoneRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path below `/v3`, with query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Statuses that refuse Stonegate's own credential; counted as `refused` in the metric. */
  readonly refusals: readonly number[];
  /** Timeout in milliseconds, if it differs from the client's. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

export interface KeystoneResponse {
  readonly status: number;
  readonly body: JSONObject;
  /** The value of `X-Subject-Token`. */
  readonly token: string | undefined;
  /** The `Date` header in milliseconds since the epoch; undefined if absent. */
  readonly date: number | undefined;
}

export interface KeystoneHTTP {
  /** @throws StatusError KeystoneUnavailable if there is no response below 500 that is a JSON object */
  exchange(request: KeystoneRequest): Promise<KeystoneResponse>;
  close(): Promise<void>;
}

/** @param cause for the log, an error or its text: contains no secret and no text of Keystone */
export function keystoneUnavailable(cause: unknown): StatusError {
  return new StatusError('KeystoneUnavailable', 'Service Unavailable: Keystone cannot be asked right now', {
    cause: typeof cause === 'string' ? new Error(cause) : cause,
  });
}

export function createKeystoneHTTP(options: KeystoneHTTPOptions): KeystoneHTTP {
  const { clock, timeout } = options;
  const url = new URL(options.url);
  const base = url.pathname.replace(/\/*$/, '').replace(/(?:\/v3)?$/, '/v3');
  const pool = new Pool(url.origin, {
    connections: options.connections ?? CONNECTIONS,
    connect: { timeout, ...(options.ca === undefined ? {} : { ca: options.ca }) },
    // The timer below limits the whole request.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: options.maxResponseBytes ?? MAX_RESPONSE_BYTES,
    maxHeaderSize: MAX_HEAD_BYTES,
  });

  async function send(request: KeystoneRequest, signal: AbortSignal): Promise<KeystoneResponse> {
    const dispatch: Dispatcher.RequestOptions = {
      method: request.method,
      path: `${base}${request.path}`,
      headers: {
        accept: 'application/json',
        'user-agent': 'stonegate',
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...request.headers,
      },
      body: request.body === undefined ? null : JSON.stringify(request.body),
      signal,
    };
    const response = await pool.request(dispatch).catch((error: unknown) => {
      // Keystone may close an idle connection at the moment of its reuse.
      if (hasCode(error, 'UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE')) return pool.request(dispatch);
      throw error;
    });
    const bytes = await response.body.arrayBuffer();
    if (response.statusCode >= 500 || (response.statusCode >= 300 && response.statusCode < 400)) {
      throw new Error(`Keystone answered ${response.statusCode}`);
    }
    const token = response.headers['x-subject-token'];
    return {
      status: response.statusCode,
      body: response.statusCode === 204 ? {} : jsonObject(bytes, response.statusCode),
      token: typeof token === 'string' ? token : undefined,
      date: readDate(response.headers.date),
    };
  }

  return {
    async exchange(request) {
      const call = new BackendCall('keystone', options);
      try {
        const response = await withDeadline(
          clock,
          request.timeout ?? timeout,
          () => LATE,
          (signal) => send(request, signal),
          ...(request.signal === undefined ? [] : [request.signal]),
        );
        call.end(request.refusals.includes(response.status) ? 'refused' : 'ok');
        return response;
      } catch (error) {
        call.end(error === LATE ? 'timeout' : 'error');
        throw keystoneUnavailable(error);
      }
    },
    close: () => pool.destroy(),
  };
}

const LATE = Object.assign(new Error('Keystone did not answer in time'), { code: 'ETIMEDOUT' });

function readDate(field: string | string[] | undefined): number | undefined {
  const date = typeof field === 'string' ? Date.parse(field) : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}

function jsonObject(bytes: ArrayBuffer, status: number): JSONObject {
  // Invalid UTF-8 would become replacement characters, which could make two names equal.
  const object = isUtf8(bytes) ? readJSONObject(Buffer.from(bytes)) : undefined;
  if (object === undefined) throw new Error(`Keystone's response (${status}) is not a JSON object`);
  return object;
}

/** Only a refusal with Keystone's error object counts: a front end or a wrong URL gives others. */
export function isRefusal(
  { status, body: { error } }: KeystoneResponse,
  statuses: readonly number[],
): boolean {
  return statuses.includes(status) && isJSONObject(error) && error.code === status;
}
