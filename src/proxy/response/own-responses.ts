/**
 * Builds the responses that several handlers have in common.
 */
import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { type HeaderField, type HeaderList, headerValues } from '../../lib/header-list.ts';
import { asciiJSON } from '../../lib/untrusted-text.ts';
import type { StreamedResponse } from './response-stream.ts';

export const JSON_HEADERS: readonly HeaderField[] = [
  ['Content-Type', JSON_TYPE],
  ['Cache-Control', 'no-cache, private'],
];

export function jsonResponse(status: number, object: object): UpstreamResponse {
  return { status, headers: JSON_HEADERS, body: Buffer.from(`${JSON.stringify(object)}\n`) };
}

/** A new object with a secret, or the answer to one: nothing on the way may store it. */
export function secretResponse(object: object): UpstreamResponse {
  const headers: readonly HeaderField[] = [
    ['Content-Type', JSON_TYPE],
    ['Cache-Control', 'no-store'],
  ];
  return { ...jsonResponse(201, object), headers };
}

/** @param uid kubectl waits until no object has it; without it, kubectl does not wait */
export function deletedResponse(resource: string, name: string, uid = name): UpstreamResponse {
  const details = { name, group: 'stonegate.dev', kind: resource, uid };
  return jsonResponse(200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
}

interface ExtensibleResponse {
  readonly headers: HeaderList;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The response with warnings, which kubectl shows beside it. RFC 7234 §5.5. */
export function withWarnings<R extends ExtensibleResponse>(response: R, texts: readonly string[]): R {
  const warnings = texts.map((text): HeaderField => ['Warning', `299 - ${asciiJSON(JSON.stringify(text))}`]);
  return { ...response, headers: [...response.headers, ...warnings] };
}

/** Whether the client has the response with this tag already. RFC 9110 §13.1.2, weak comparison. */
export function matchesTag(requested: HeaderList, tag: string): boolean {
  return headerValues(requested, 'if-none-match')
    .flatMap((value) => value.split(','))
    .map((value) => value.trim().replace(/^W\//, ''))
    .some((value) => value === tag || value === '*');
}

const expired = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'too old resource version: what you may see has changed, list again',
  reason: 'Expired',
  code: 410,
};

/**
 * The event of a watch after which a client lists again: one line, with its line feed.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses
 */
export const EXPIRED_EVENT = `${JSON.stringify({ type: 'ERROR', object: expired })}\n`;

/** A watch that consists of `EXPIRED_EVENT` alone. */
export const EXPIRED_WATCH: StreamedResponse = {
  status: 200,
  headers: JSON_HEADERS,
  start(stream) {
    stream.write(EXPIRED_EVENT);
    stream.end();
    return () => {};
  },
};

/**
 * Marks a response that holds less than the API server has: the objects that the user's rights cover. Clients
 * see a header, the audit log has an annotation.
 */
export function asFiltered<R extends ExtensibleResponse>(response: R): R {
  return {
    ...response,
    headers: [...response.headers, ['Stonegate-Filtered', 'rbac']],
    annotations: { ...response.annotations, 'stonegate.dev/filtered': 'rbac' },
  };
}

/** Fields that are passed on; the others describe the connection, or one response of several. */
const RELAYED: ReadonlySet<string> = new Set(['content-type', 'cache-control', 'warning', 'retry-after']);

/** The API server's response to a request of Stonegate's own, as the response to the client. */
export function relayedResponse({ status, headers, body }: UpstreamResponse): UpstreamResponse {
  return { status, headers: headers.filter(([name]) => RELAYED.has(name.toLowerCase())), body };
}
