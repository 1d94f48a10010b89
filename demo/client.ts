/** A small Kubernetes client over real connections: plain requests, a watch, and exec over WebSocket. */
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

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface Watch {
  readonly status: number;
  /** The first event of which `matches` is true. */
  next(matches: (event: unknown) => boolean): Promise<unknown>;
  close(): void;
}

export interface ExecResult {
  readonly stdout: string;
  /** The outcome as the API server sends it at the end, a Status. */
  readonly outcome: string;
}

export interface Client {
  ask(call: Call): Promise<Answer>;
  watch(call: Pick<Call, 'token' | 'path'>): Promise<Watch>;
  exec(call: Pick<Call, 'token' | 'path'>): Promise<ExecResult>;
}

const STDOUT = 1;
const OUTCOME = 3;

/**
 * Every call has a connection of its own.
 *
 * @param options.url `https://host:port`
 * @param options.ca PEM
 * @param options.timeout after how many milliseconds a call is given up
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
      // Also for what goes wrong after the answer has begun: its reader hears of that by itself.
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
        // Rejects where the handshake is refused, too.
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
