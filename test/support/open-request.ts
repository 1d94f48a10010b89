/**
 * A request whose response a test reads as it arrives, and that the test can break off. Each request has its
 * own TLS connection, so that a disconnect affects no other request.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Writable } from 'node:stream';

export interface Destination {
  readonly port: number;
  /** PEM. */
  readonly ca: string;
  /** The client certificate, PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** The local address; by default the system chooses it. */
  readonly from?: string;
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  /** The complete body; with `upload` the test writes it itself. */
  readonly body?: string;
  readonly upload?: boolean;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** The part of the body that arrived. */
  readonly body: string;
  /** False if the connection broke before the response was complete. */
  readonly complete: boolean;
  /** Stonegate's own code in a Status; undefined for other responses. */
  readonly code: string | undefined;
}

export interface OpenRequest {
  /** The head of the response. */
  readonly head: Promise<IncomingMessage>;
  /** The response once it has ended or broken off; rejects if there was none. */
  readonly answered: Promise<Answered>;
  /** Resolves when the text so far contains `part`; rejects if the response ends without it. */
  until(part: string): Promise<string>;
  /** The body, which the test writes. */
  readonly body: Writable;
  /** Breaks the connection. */
  leave(): void;
  /** Shuts down the sending half of the connection. */
  halfClose(): void;
}

/** @param token sent as bearer token, if given */
export function openRequest(
  { from, ...destination }: Destination,
  token: string | undefined,
  path: string,
  options: RequestOptions = {},
): OpenRequest {
  const credential = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const request = httpsRequest({
    host: '127.0.0.1',
    ...destination,
    path,
    method: options.method ?? 'GET',
    headers: { ...credential, ...options.headers },
    agent: false,
    ...(from === undefined ? {} : { localAddress: from }),
  });
  let text = '';
  const head = once(request, 'response').then(([response]: IncomingMessage[]) => {
    if (response === undefined) throw new Error('no response');
    response.setEncoding('latin1');
    response.on('data', (chunk: string) => {
      text += chunk;
    });
    // An error is also reported as 'close'.
    response.on('error', () => response.destroy());
    return response;
  });
  const answered = head.then(async (response) => {
    if (!response.closed) await new Promise((resolve) => response.once('close', resolve));
    const { statusCode = 0, headers, complete } = response;
    return { status: statusCode, headers, body: text, complete, code: stonegateCode(text) };
  });
  // A test that awaits them gets the error; any other test closed the connection itself.
  head.catch(() => request.destroy());
  answered.catch(() => request.destroy());
  request.on('error', () => request.destroy());
  if (options.upload === true) request.flushHeaders();
  else request.end(options.body);

  return {
    head,
    answered,
    async until(part) {
      const response = await head;
      while (!text.includes(part)) {
        if (response.closed) throw new Error(`the answer ended without ${JSON.stringify(part)}: ${text}`);
        await Promise.race([
          once(response, 'data'),
          new Promise((resolve) => response.once('close', resolve)),
        ]);
      }
      return text;
    },
    body: request,
    leave: () => request.destroy(),
    halfClose: () => request.socket?.end(),
  };
}

/** Sends one request and reads the whole response. */
export function askOnce(
  destination: Destination,
  token: string | undefined,
  path: string,
  options: RequestOptions = {},
): Promise<Answered> {
  return openRequest(destination, token, path, options).answered;
}

/** Stonegate's code in a Status (`docs/reference/errors.md`); undefined for any other response. */
export function stonegateCode(body: string): string | undefined {
  return /"reason":"StonegateCode","message":"(\w+)"/.exec(body)?.[1];
}
