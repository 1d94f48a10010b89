/** A small Kubernetes client: plain requests, a watch, and exec over WebSocket. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import WebSocket from 'ws';

export interface Call {
  readonly token: string;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
}

export interface CallResponse {
  readonly status: number;
  readonly body: string;
}

export interface Watch {
  readonly status: number;
  /** The first event for which `matches` returns true. */
  next(matches: (event: unknown) => boolean): Promise<unknown>;
  close(): void;
}

export interface ExecResult {
  readonly stdout: string;
  /** The Status that the API server sends at the end. */
  readonly outcome: string;
}

export interface Client {
  ask(call: Call): Promise<CallResponse>;
  watch(call: Pick<Call, 'token' | 'path'>): Promise<Watch>;
  exec(call: Pick<Call, 'token' | 'path'>): Promise<ExecResult>;
}

const STDOUT = 1;
const OUTCOME = 3;

/**
 * Every call uses a new connection.
 *
 * @param options.url `https://host:port`
 * @param options.ca PEM
 * @param options.timeout milliseconds after which a call is aborted
 */
export function createClient(options: {
  readonly url: string;
  readonly ca: string;
  readonly timeout: number;
}): Client {
  const { url, ca, timeout } = options;

  async function open({ token, method, path, body }: Call): Promise<IncomingMessage> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const request = httpsRequest(`${url}${path}`, {
      method,
      ca,
      agent: false,
      signal: AbortSignal.timeout(timeout),
      headers: {
        Authorization: `Bearer ${token}`,
        Accept: 'application/json',
        ...(sent !== undefined && { 'Content-Type': 'application/json' }),
      },
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve);
      // Errors after the response has begun are also reported to its reader.
      request.on('error', reject);
    });
    request.end(sent);
    return answered;
  }

  return {
    async ask(call) {
      const response = await open(call);
      return { status: response.statusCode ?? 0, body: await text(response) };
    },
    async watch(call) {
      const response = await open({ ...call, method: 'GET' });
      return {
        status: response.statusCode ?? 0,
        async next(matches) {
          for await (const line of linesOf(response)) {
            const event: unknown = JSON.parse(line);
            if (matches(event)) return event;
          }
          throw new Error('the watch ended without the event');
        },
        close: () => response.destroy(),
      };
    },
    async exec({ token, path }) {
      const socket = new WebSocket(`${url.replace(/^http/, 'ws')}${path}`, ['v5.channel.k8s.io'], {
        ca,
        handshakeTimeout: timeout,
        headers: { Authorization: `Bearer ${token}` },
      });
      const channels = new Map<number, string>();
      socket.on('message', (data) => {
        const message = Buffer.isBuffer(data) ? data : Buffer.alloc(0);
        const channel = message[0] ?? 0;
        channels.set(channel, (channels.get(channel) ?? '') + message.subarray(1).toString());
      });
      try {
        // Also rejects if the handshake is refused.
        await once(socket, 'close', { signal: AbortSignal.timeout(timeout) });
      } finally {
        socket.terminate();
      }
      return { stdout: channels.get(STDOUT) ?? '', outcome: channels.get(OUTCOME) ?? '' };
    },
  };
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  response.setEncoding('utf8');
  let pending = '';
  for await (const chunk of response) {
    const lines = (pending + String(chunk)).split('\n');
    pending = lines.pop() ?? '';
    yield* lines;
  }
}
