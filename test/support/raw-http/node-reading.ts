/**
 * Parses a response with Node’s own HTTP client, for comparison with ours. The connection is in memory, and
 * the bytes arrive one by one, which shows where the response ends.
 */
import { once } from 'node:events';
import http from 'node:http';
import { Duplex } from 'node:stream';
import { fromRawHeaders, type HeaderField } from '../../../src/lib/header-list.ts';

export interface NodeReading {
  readonly status: number;
  readonly fields: readonly HeaderField[];
  /** In latin1. */
  readonly content: string;
  /** The size of the response in bytes; all bytes if it ends with the connection. */
  readonly size: number;
  /** Whether the connection may carry another request. */
  readonly persistent: boolean;
}

/** A socket that receives what a test emits and discards what is written. */
export class MemorySocket extends Duplex {
  override _read() {}

  override _write(_chunk: unknown, _encoding: string, done: () => void) {
    done();
  }

  setKeepAlive() {}
  setTimeout() {}
  ref() {}
  unref() {}
}

/** An agent that would reuse the connection. */
class MemoryAgent extends http.Agent {
  readonly socket = new MemorySocket();

  constructor() {
    super({ keepAlive: true });
  }

  override createConnection(): Duplex {
    return this.socket;
  }
}

/** @returns undefined for a response that is refused or incomplete */
export async function readByNode(bytes: Buffer, method: string): Promise<NodeReading | undefined> {
  const agent = new MemoryAgent();
  const { socket } = agent;
  const request = http.request({ agent, method, maxHeaderSize: 64 * 1024 });
  let response: http.IncomingMessage | undefined;
  let failed = false;
  let content = '';
  request.on('response', (received) => {
    response = received;
    received.on('error', () => undefined);
  });
  request
    .on('error', () => {
      failed = true;
    })
    .on('upgrade', () => {
      failed = true;
    });
  request.end();
  await once(request, 'finish');
  let size = 0;
  for (; size < bytes.length && !failed && response?.complete !== true; size += 1) {
    socket.emit('data', bytes.subarray(size, size + 1));
    content += takeFrom(response);
  }
  if (!failed && response?.complete !== true) socket.emit('end');
  content += takeFrom(response);
  const whole = !failed && response?.complete === true ? response : undefined;
  const reading = whole && {
    status: whole.statusCode ?? 0,
    fields: fromRawHeaders(whole.rawHeaders),
    content,
    size,
    persistent: request.shouldKeepAlive,
  };
  request.destroy();
  socket.destroy();
  return reading;
}

function takeFrom(response: http.IncomingMessage | undefined) {
  const chunk: unknown = response?.read();
  return Buffer.isBuffer(chunk) ? chunk.toString('latin1') : '';
}
