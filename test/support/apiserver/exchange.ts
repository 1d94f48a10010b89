/** One request inside the stand-in once everything about it is known, and the ways to respond to it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { parse as parseYAML } from 'yaml';
import { decodeObject } from '../../../src/kubernetes/kubernetes-protobuf.ts';
import { PROTOBUF_TYPE } from '../../../src/kubernetes/meta-v1.ts';
import type { Cluster } from './cluster.ts';
import { isObject, type JsonObject } from './json.ts';
import { parseBody } from './patches.ts';
import { encodeProtobuf } from './protobuf-answers.ts';
import type { RequestPath } from './request-path.ts';
import { ApiError, badRequest } from './statuses.ts';
import type { User } from './users.ts';

export interface Upgraded {
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface Exchange {
  readonly cluster: Cluster;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: RequestPath;
  /** The user after impersonation. */
  readonly user: User;
  /** The path's tenant, or on a short path the tenant of the request's user. */
  readonly tenant: string;
  /** Present if the client requests an upgrade. */
  readonly upgrade: Upgraded | undefined;
  /** The server's own address, for discovery. */
  readonly address: string;
  /** Aborted when watches are to end. */
  readonly ending: AbortSignal;
}

export function sendJSON(response: ServerResponse, code: number, body: JsonObject) {
  const bytes = Buffer.from(`${JSON.stringify(body)}\n`);
  response.writeHead(code, { 'Content-Type': 'application/json', 'Content-Length': bytes.length });
  response.end(bytes);
}

export function sendProtobuf(response: ServerResponse, code: number, object: JsonObject) {
  const bytes = encodeProtobuf(object);
  response.writeHead(code, { 'Content-Type': PROTOBUF_TYPE, 'Content-Length': bytes.length });
  response.end(bytes);
}

export function sendText(response: ServerResponse, code: number, text: string) {
  response.writeHead(code, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

/** The whole body. */
async function readBytes(request: IncomingMessage) {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The whole body as text. */
export async function readText(request: IncomingMessage) {
  return (await readBytes(request)).toString('utf8');
}

const YAML_TYPE = 'application/yaml';

/**
 * @throws ApiError 400 if the body is not an object of this kind, 415 if it is neither JSON, YAML nor
 * protobuf
 */
export async function readObject(request: IncomingMessage, kind: string): Promise<JsonObject> {
  const type = (request.headers['content-type'] ?? 'application/json').split(';')[0]?.trim();
  const bytes = await readBytes(request);
  if (type !== 'application/json' && type !== YAML_TYPE && type !== PROTOBUF_TYPE)
    throw new ApiError(415, 'UnsupportedMediaType', 'the body of the request was in an unknown format', {});
  const object =
    type === PROTOBUF_TYPE
      ? decodeObject(bytes)
      : type === YAML_TYPE
        ? parseYAML(bytes.toString('utf8'), { merge: true, uniqueKeys: false })
        : parseBody(bytes.toString('utf8'));
  if (!isObject(object) || (object.kind !== undefined && object.kind !== kind))
    throw badRequest(`the object provided is unrecognized: it is no ${kind}`);
  return object;
}
