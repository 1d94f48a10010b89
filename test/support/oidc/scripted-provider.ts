/**
 * A provider that returns whatever the test wants, for responses that no honest provider sends. Its ID tokens
 * have no valid signature, since a client that receives them over its own connection need not verify it
 * (OpenID Connect Core 1.0 §3.1.3.7, 6).
 */
import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { startLoopbackServer } from './loopback-server.ts';

export interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly form: URLSearchParams;
}

export interface Said {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON unless it is a string. */
  readonly body: unknown;
}

export interface ScriptedProvider {
  readonly issuer: string;
  /** The requests to the token and device endpoints. */
  readonly asked: Asked[];
  /** Merged over the discovery document; undefined removes a member. */
  readonly metadata: Record<string, unknown>;
  /** Returned in place of the discovery document. */
  discovery?: Said;
  /** Responses of the token endpoint in order; the last one is repeated. */
  tokenAnswers: Said[];
  deviceAnswer: Said;
  /** `iss`, `aud`, `iat`, `exp` and `sub` are valid unless they are given. */
  idToken(claims?: Readonly<Record<string, unknown>>): string;
  close(): Promise<void>;
}

export async function startScriptedProvider(
  options: { readonly tls?: { readonly cert: string; readonly key: string } } = {},
): Promise<ScriptedProvider> {
  const asked: Asked[] = [];
  const server = await startLoopbackServer(async (request, response) => {
    const path = new URL(request.url ?? '', 'http://any').pathname;
    const form = new URLSearchParams(await text(request));
    if (request.method === 'POST') asked.push({ path, headers: request.headers, form });
    const { status = 200, headers = {}, body } = sayTo(path);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }, options);

  function sayTo(path: string): Said {
    if (path === '/token') {
      const [next] = provider.tokenAnswers;
      if (provider.tokenAnswers.length > 1) provider.tokenAnswers.shift();
      return next ?? { status: 500, body: {} };
    }
    if (path === '/device') return provider.deviceAnswer;
    return provider.discovery ?? { body: provider.metadata };
  }

  const provider: ScriptedProvider = {
    issuer: server.origin,
    asked,
    metadata: {
      issuer: server.origin,
      authorization_endpoint: `${server.origin}/auth`,
      token_endpoint: `${server.origin}/token`,
      device_authorization_endpoint: `${server.origin}/device`,
      id_token_signing_alg_values_supported: ['ES256'],
    },
    tokenAnswers: [],
    deviceAnswer: {
      body: {
        device_code: 'of-the-device',
        user_code: 'WDJB-MJHT',
        verification_uri: `${server.origin}/confirm`,
        expires_in: 900,
      },
    },
    idToken(claims = {}) {
      const now = Math.floor(Date.now() / 1_000);
      const good = { iss: server.origin, aud: 'kubernetes', sub: 'carol', iat: now, exp: now + 3_600 };
      const parts = [{ alg: 'ES256' }, { ...good, ...claims }].map((part) =>
        Buffer.from(JSON.stringify(part)).toString('base64url'),
      );
      return [...parts, Buffer.alloc(64).toString('base64url')].join('.');
    },
    close: server.down,
  };
  return provider;
}
