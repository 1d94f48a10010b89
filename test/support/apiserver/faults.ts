/** Ways in which the stand-in fails on purpose, one request at a time. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJSON } from './exchange.ts';
import type { JsonObject } from './json.ts';

export type FaultKind =
  /** Declares a body, sends half of it and breaks the connection. */
  | 'half-body'
  /** Sends half of a chunked body and breaks the connection. */
  | 'half-chunked'
  /** Resets the connection before any response. */
  | 'reset'
  /** Never responds. */
  | 'hang'
  /** Sends bytes that are not HTTP. */
  | 'garbage'
  /** Redirects to another server with 307. */
  | 'redirect'
  | 'huge-headers'
  /** Allows nothing, as a real server does for a moment after its start, when it knows no role yet. */
  | 'no-rights'
  | '401'
  | '403'
  | '429'
  | '500'
  | '503';

export interface Fault {
  readonly kind: FaultKind;
  readonly applies: (request: IncomingMessage) => boolean;
}

const REASONS: Readonly<Record<string, string>> = {
  '401': 'Unauthorized',
  '403': 'Forbidden',
  '429': 'TooManyRequests',
  '500': 'InternalError',
  '503': 'ServiceUnavailable',
};

/** Responds, or fails to respond, in the way of the fault. */
export function misbehave(kind: Exclude<FaultKind, 'no-rights'>, response: ServerResponse) {
  const { socket } = response;
  switch (kind) {
    case 'half-body':
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 1000 });
      response.write('{"kind":"PodList",', () => socket?.destroy());
      break;
    case 'half-chunked':
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.write('{"kind":"PodList",', () => socket?.destroy());
      break;
    case 'reset':
      socket?.destroy();
      break;
    case 'hang':
      break;
    case 'garbage':
      socket?.end('\u0000\u0001 this is not HTTP\r\n\r\n');
      break;
    case 'redirect':
      response.writeHead(307, { Location: 'https://elsewhere.invalid/api/v1/pods' }).end();
      break;
    case 'huge-headers':
      response.writeHead(200, { 'X-Huge': 'x'.repeat(512 * 1024) }).end();
      break;
    default:
      sendJSON(response, Number(kind), statusOf(kind));
  }
}

function statusOf(kind: string): JsonObject {
  const reason = REASONS[kind] ?? 'Unknown';
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: reason,
    reason,
    code: Number(kind),
  };
}
