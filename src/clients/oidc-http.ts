/**
 * How an issuer's documents are fetched: over TLS (plain HTTP only to this very machine), bounded in size, and
 * without following redirects, since a redirect would let whoever serves the old address name the keys.
 * OpenID Connect Discovery 1.0 §4; RFC 9700 §4.4.
 */
import { Agent, request } from 'undici';

/** Entra ID publishes some 30 kB of keys, the largest known. */
const MAX_BYTES = 1024 * 1024;

export interface IssuerHTTP {
  /**
   * @param signal ends the call
   * @throws Error where the address may not be asked, the server cannot be reached or says too much
   */
  get(url: string, signal: AbortSignal): Promise<Response>;
  close(): Promise<void>;
}

/** @param options.ca PEM; when given, only these authorities are trusted */
export function createIssuerHTTP(options: { readonly ca?: string | Buffer | undefined }): IssuerHTTP {
  const dispatcher = new Agent({
    ...(options.ca === undefined ? {} : { connect: { ca: options.ca } }),
    keepAliveTimeout: 1_000,
  });
  return {
    async get(url, signal) {
      requireSafeAddress(url);
      const answer = await request(url, { dispatcher, signal, headers: { accept: 'application/json' } });
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of answer.body) {
        size += chunk.length;
        if (size > MAX_BYTES) throw new Error(`the answer is larger than ${MAX_BYTES} bytes`);
        chunks.push(chunk);
      }
      const type = answer.headers['content-type'];
      return new Response(Buffer.concat(chunks), {
        status: answer.statusCode,
        headers: typeof type === 'string' ? { 'content-type': type } : {},
      });
    },
    close: () => dispatcher.destroy(),
  };
}

/** Whether plain HTTP to this address never leaves the machine. */
export function isLoopback(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(url.hostname);
}

function requireSafeAddress(address: string): void {
  const url = new URL(address);
  if (url.username !== '' || url.password !== '') throw new Error('the address holds a user or a password');
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))) return;
  throw new Error(`the address must be https, not ${url.protocol}//${url.host}`);
}
