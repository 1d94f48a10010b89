/**
 * How an issuer is asked: over TLS (plain HTTP only to this very machine), answers bounded in size, and without
 * following redirects, since a redirect would let whoever serves the old address name the keys.
 * OpenID Connect Discovery 1.0 §4; RFC 9700 §4.4.
 */
import { Agent, request } from 'undici';
import { isLoopback } from '../lib/transport-security.ts';

/** Entra ID publishes some 30 kB of keys, the largest known. */
const MAX_BYTES = 1024 * 1024;

export interface IssuerRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Ends the call. */
  readonly signal: AbortSignal;
}

export interface IssuerHTTP {
  /** @throws Error where the address may not be asked, the server cannot be reached or says too much */
  send(url: string, request: IssuerRequest): Promise<Response>;
  /** The same, for a document. */
  get(url: string, signal: AbortSignal): Promise<Response>;
  close(): Promise<void>;
}

/** @param options.ca PEM; when given, only these authorities are trusted */
export function createIssuerHTTP(options: { readonly ca?: string | Buffer | undefined }): IssuerHTTP {
  const dispatcher = new Agent({
    ...(options.ca === undefined ? {} : { connect: { ca: options.ca } }),
    keepAliveTimeout: 1_000,
  });

  async function send(url: string, { method, headers, body, signal }: IssuerRequest): Promise<Response> {
    requireSafeAddress(url);
    const answer = await request(url, {
      dispatcher,
      method,
      signal,
      headers: { accept: 'application/json', ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of answer.body) {
      size += chunk.length;
      if (size > MAX_BYTES) throw new Error(`the answer is larger than ${MAX_BYTES} bytes`);
      chunks.push(chunk);
    }
    const kept = ['content-type', 'www-authenticate', 'retry-after'].flatMap((name): [string, string][] => {
      const value = answer.headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    });
    return new Response(mayHaveBody(answer.statusCode) ? Buffer.concat(chunks) : null, {
      status: answer.statusCode,
      headers: kept,
    });
  }

  return {
    send,
    get: (url, signal) => send(url, { method: 'GET', signal }),
    close: () => dispatcher.destroy(),
  };
}

/**
 * @param address of the issuer, or one that it names
 * @throws Error where it is neither https nor this very machine, or holds a user or a password
 */
export function requireSafeAddress(address: string): void {
  const url = new URL(address);
  if (url.username !== '' || url.password !== '') throw new Error('the address holds a user or a password');
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))) return;
  throw new Error(`the address must be https, not ${url.protocol}//${url.host}`);
}

/** `Response` refuses a body, even an empty one, with the others. */
function mayHaveBody(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}
