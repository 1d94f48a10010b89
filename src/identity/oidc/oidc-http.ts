/**
 * HTTP requests to an issuer: over TLS (plain HTTP only on loopback), with a size limit and without
 * redirects, which would let the old address name the keys.
 * OpenID Connect Discovery 1.0 §4; RFC 9700 §4.4.
 */
import { Agent, request } from 'undici';
import { isLoopback } from '../../lib/transport-security.ts';

/** Entra ID publishes about 30 kB of keys, the largest known set. */
const MAX_BYTES = 1024 * 1024;

export interface IssuerRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Cancels the request. */
  readonly signal: AbortSignal;
}

export interface IssuerHTTP {
  /**
   * @throws Error if the address is not permitted, the server cannot be reached or its response is too large
   */
  send(url: string, request: IssuerRequest): Promise<Response>;
  close(): Promise<void>;
}

/** @param options.ca PEM; if given, only these authorities are trusted */
export function createIssuerHTTP(options: { readonly ca?: string | Buffer | undefined }): IssuerHTTP {
  const dispatcher = new Agent({
    ...(options.ca === undefined ? {} : { connect: { ca: options.ca } }),
    keepAliveTimeout: 1_000,
  });

  async function send(url: string, { method, headers, body, signal }: IssuerRequest): Promise<Response> {
    requireSafeAddress(url);
    const response = await request(url, {
      dispatcher,
      method,
      signal,
      headers: { accept: 'application/json', ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response.body) {
      size += chunk.length;
      if (size > MAX_BYTES) throw new Error(`the response is larger than ${MAX_BYTES} bytes`);
      chunks.push(chunk);
    }
    const passed = ['content-type', 'www-authenticate', 'retry-after'].flatMap((name): [string, string][] => {
      const value = response.headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    });
    return new Response(mayHaveBody(response.statusCode) ? Buffer.concat(chunks) : null, {
      status: response.statusCode,
      headers: passed,
    });
  }

  return {
    send,
    close: () => dispatcher.destroy(),
  };
}

/**
 * @param address of the issuer, or one that it names
 * @throws Error if it is neither https nor loopback, or contains a user or a password
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
