/** Ways in which the stand-in misbehaves on purpose, one request at a time. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJSON } from './exchange.ts';
import type { JsonObject } from './json.ts';

export type FaultKind =
  /** Announces a body, sends half of it and breaks the connection. */
  | 'half-body'
  /** Half of a chunked body, then the connection breaks. */
  | 'half-chunked'
  /** Resets the connection before any answer. */
  | 'reset'
  /** Never answers. */
  | 'hang'
  /** Bytes that are no HTTP. */
  | 'garbage'
  /** 307 to somewhere else. */
  | 'redirect'
  | 'huge-headers'
  /** As for a moment after each start of a real server: it knows no role yet, so no user may do anything. */
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

/** Answers, or fails to, as the fault says. */
export function misbehave(kind: Exclude<FaultKind, 'no-rights'>, response: ServerResponse): void {
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
