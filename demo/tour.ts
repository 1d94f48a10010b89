/**
 * The tour: runs the steps over real connections and shows each request, its response and the API server's
 * view. A step says what its responses must be, so the tour is also a test.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import WebSocket from 'ws';
import { messageOf } from '../src/lib/error-code.ts';
import type { LoggedRequest } from '../test/support/apiserver/api-server.ts';
import { isObject, type JsonObject } from '../test/support/apiserver/json.ts';
import { createHttpsClient } from '../test/support/https-client.ts';
import { describeRequest } from './playground.ts';

export interface TourOptions {
  readonly steps: readonly Step[];
  /** Stonegate's URL. */
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  /** Context → token. */
  readonly tokens: Readonly<Record<string, string>>;
  /** Requests that have reached the API server; grows. */
  readonly requests: readonly LoggedRequest[];
  readonly print: (line: string) => void;
}

export interface Exchange {
  readonly context: string;
  readonly method?: string;
  readonly path: string;
  readonly body?: object;
  /** Says what is in the response. */
  readonly read: (answer: JsonObject) => string;
  /** The status and what `read` must return. */
  readonly is: string | RegExp;
  /** What the API server must have seen; not checked without it. */
  readonly upstream?: readonly string[];
}

/** What a step does besides plain exchanges. */
export interface Guide {
  exchange(exchange: Exchange): Promise<void>;
  /** @returns waits for the first event that contains the text, and then ends the watch */
  watch(context: string, path: string, text: string): Promise<() => Promise<void>>;
  /** Over WebSocket. */
  exec(context: string, path: string, is: string): Promise<void>;
}

/** A step throws if a check fails. */
export interface Step {
  readonly title: string;
  readonly exchanges?: readonly Exchange[];
  readonly run?: (guide: Guide) => Promise<void>;
}

const CALL_TIMEOUT = 10_000;

/**
 * Runs every step, also after a failed one.
 *
 * @returns the titles of the failed steps
 */
export async function takeTour(options: TourOptions): Promise<string[]> {
  const { steps, print } = options;
  const guide = createGuide(options);
  const wrong: string[] = [];
  for (const [index, { title, exchanges = [], run }] of steps.entries()) {
    print('');
    print(`${index + 1}. ${title}`);
    try {
      for (const exchange of exchanges) await guide.exchange(exchange);
      await run?.(guide);
    } catch (error) {
      wrong.push(title);
      print(`   WRONG: ${messageOf(error)}`);
    }
  }
  guide.close();
  return wrong;
}

function createGuide({ url, ca, tokens, requests, print }: TourOptions): Guide & { close(): void } {
  const client = createHttpsClient({ port: Number(new URL(url).port), ca });
  let shown = requests.length;

  function tokenOf(context: string): string {
    const token = tokens[context];
    if (token === undefined) throw new Error(`${context} has no token`);
    return token;
  }

  /** Prints what went out, what came back, and what the API server saw since the last exchange. */
  function show({ context, method = 'GET', path, is, upstream }: Shown, cameBack: string): void {
    const seen = requests.slice(shown).filter(isForUser).map(describeRequest);
    shown = requests.length;
    print(`   ${context.padEnd(10)} > ${method} ${path}`);
    print(`   ${' '.repeat(10)} < ${cameBack}`);
    for (const line of seen) print(`   API server saw ${line}`);
    if (seen.length === 0) print('   API server saw nothing');
    if (typeof is === 'string' ? cameBack !== is : !is.test(cameBack))
      throw new Error(`it should be ${String(is)}, but is ${cameBack}`);
    if (upstream !== undefined && seen.map(withoutRevision).toSorted().join() !== upstream.toSorted().join())
      throw new Error(`the API server should have seen ${upstream.join(', ') || 'nothing'}`);
  }

  return {
    async exchange(exchange) {
      const { context, path, method = 'GET', body, read } = exchange;
      const response = await client.ask(tokenOf(context), path, {
        method,
        headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      const answer: unknown = response.json();
      show(exchange, `${response.status} ${isObject(answer) ? read(answer) : ''}`.trimEnd());
    },
    async watch(context, path, text) {
      const response = await client.open(tokenOf(context), path);
      show({ context, path, is: '200 and stays open' }, `${response.statusCode} and stays open`);
      return async () => print(`   ${context.padEnd(10)} < ${await firstLine(response, text)}, on the watch`);
    },
    async exec(context, path, is) {
      const socket = new WebSocket(`${url.replace(/^http/, 'ws')}${path}`, ['v5.channel.k8s.io'], {
        ca,
        handshakeTimeout: CALL_TIMEOUT,
        headers: { Authorization: `Bearer ${tokenOf(context)}` },
      });
      const channels: Record<number, string> = {};
      socket.on('message', (data) => {
        const [channel = 0, ...bytes] = Buffer.isBuffer(data) ? data : Buffer.alloc(0);
        channels[channel] = (channels[channel] ?? '') + Buffer.from(bytes).toString();
      });
      try {
        // Also rejects if the handshake is refused.
        await once(socket, 'close', { signal: AbortSignal.timeout(CALL_TIMEOUT) });
      } finally {
        socket.terminate();
      }
      // The last one is the Status that the API server sends at the end.
      const { 1: stdout = '', 3: outcome = '' } = channels;
      show({ context, path, is }, `101 ${JSON.stringify(stdout)}, then ${outcome}`);
    },
    close: () => client.close(),
  };
}

/** The parts of a merged list are read at one revision, which a tour cannot know before. */
function withoutRevision(request: string): string {
  return request.replace(/\?resourceVersion=\d+&resourceVersionMatch=Exact/, '');
}

type Shown = Pick<Exchange, 'context' | 'method' | 'path' | 'is' | 'upstream'>;

async function firstLine(response: IncomingMessage, text: string): Promise<string> {
  const timer = setTimeout(() => response.destroy(new Error('no event came')), CALL_TIMEOUT);
  try {
    for await (const line of createInterface({ input: response })) if (line.includes(text)) return text;
    throw new Error('the watch ended without the event');
  } finally {
    clearTimeout(timer);
    response.destroy();
  }
}

/** Excludes Stonegate's own requests, such as health probes. */
function isForUser({ url, headers }: LoggedRequest): boolean {
  return headers['impersonate-user'] !== undefined || url.startsWith('/apis/authorization.k8s.io/');
}
