/**
 * One exchange with Keystone: bounded in time and size, no redirect followed, the answer a JSON object or nothing.
 * Keystone's errors come in five shapes (`error`, `message`, HTML, text, a multi-factor receipt), and its messages may
 * hold the token that was asked about: only the status and the shape leave this file, never a message.
 * https://docs.openstack.org/api-ref/identity/v3/
 */
import { type Dispatcher, Pool } from 'undici';
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { Telemetry } from '../lib/telemetry.ts';

/** Of an answer about one token or one person. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** An answer repeats the token in its head. */
const MAX_HEAD_BYTES = 64 * 1024;
const CONNECTIONS = 16;

export interface KeystoneHTTPOptions {
  /** Of the identity API, with or without its `/v3`. */
  readonly url: string;
  /** PEM; without it the system's authorities are believed. */
  readonly ca?: string;
  /** For the whole exchange, in milliseconds. */
  readonly timeout: number;
  /** What an answer may have at most; 1 MiB without it. */
  readonly maxAnswerBytes?: number;
  /** 16 without it: more than Keystone works on at once; the rest waits here instead of there. */
  readonly connections?: number;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

export interface KeystoneRequest {
  readonly method: 'GET' | 'POST';
  /** Below `/v3`, with query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** The statuses by which Keystone would refuse Stonegate's own credential; they are only counted as such. */
  readonly refusals: readonly number[];
  /** For the whole exchange, in milliseconds, where the usual time does not suffice. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

export interface KeystoneResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** Of `X-Subject-Token`. */
  readonly token: string | undefined;
  /** Keystone's own time, in milliseconds since the epoch; undefined where it tells none. */
  readonly date: number | undefined;
}

export interface KeystoneHTTP {
  /** @throws StatusError KeystoneUnavailable without an answer below 500 that is a JSON object */
  exchange(request: KeystoneRequest): Promise<KeystoneResponse>;
  close(): Promise<void>;
}

/** @param cause for the log: names no secret and quotes nothing that Keystone said */
export function keystoneUnavailable(cause: unknown): StatusError {
  return new StatusError('KeystoneUnavailable', 'Service Unavailable: Keystone cannot be asked right now', {
    cause,
  });
}

export function createKeystoneHTTP(options: KeystoneHTTPOptions): KeystoneHTTP {
  const { clock, telemetry, timeout } = options;
  const url = new URL(options.url);
  const base = url.pathname.replace(/\/*$/, '').replace(/(?:\/v3)?$/, '/v3');
  const pool = new Pool(url.origin, {
    connections: options.connections ?? CONNECTIONS,
    connect: { timeout, ...(options.ca === undefined ? {} : { ca: options.ca }) },
    // The deadline below holds for the whole exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: options.maxAnswerBytes ?? MAX_ANSWER_BYTES,
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
      // Keystone may close a kept connection in the very moment it is used again.
      if (diedInUse(error)) return pool.request(dispatch);
      throw error;
    });
    const bytes = await response.body.arrayBuffer();
    if (response.statusCode >= 500 || (response.statusCode >= 300 && response.statusCode < 400)) {
      throw new Error(`Keystone answered ${response.statusCode}`);
    }
    const token = response.headers['x-subject-token'];
    return {
      status: response.statusCode,
      body: jsonObject(bytes, response.statusCode),
      token: typeof token === 'string' ? token : undefined,
      date: readDate(response.headers.date),
    };
  }

  return {
    async exchange(request) {
      const started = clock.now();
      const deadline = new AbortController();
      const timer = clock.after(request.timeout ?? timeout, () =>
        deadline.abort(new Error('Keystone did not answer in time')),
      );
      const signal =
        request.signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, request.signal]);
      const count = (result: 'ok' | 'error' | 'timeout' | 'refused') =>
        telemetry.backendCall('keystone', result, (clock.now() - started) / 1000);
      try {
        const answer = await send(request, signal);
        count(request.refusals.includes(answer.status) ? 'refused' : 'ok');
        return answer;
      } catch (error) {
        count(deadline.signal.aborted ? 'timeout' : 'error');
        throw keystoneUnavailable(error);
      } finally {
        timer.cancel();
      }
    },
    close: () => pool.destroy(),
  };
}

function readDate(field: string | string[] | undefined): number | undefined {
  const date = typeof field === 'string' ? Date.parse(field) : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}

function diedInUse(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'UND_ERR_SOCKET' || error.code === 'ECONNRESET' || error.code === 'EPIPE';
}

function jsonObject(bytes: ArrayBuffer, status: number): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    // Fatal: bytes that are no UTF-8 would all become the same replacement character, and two names one.
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    // The parser's own message quotes what it read.
    throw new Error(`Keystone's answer (${status}) is not JSON`);
  }
  if (!isJSONObject(value)) throw new Error(`Keystone's answer (${status}) is no JSON object`);
  return value;
}
