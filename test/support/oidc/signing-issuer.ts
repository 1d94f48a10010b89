/**
 * An issuer that signs any payload: for tokens of providers that cannot run here, for tokens that no honest
 * provider issues, and for invalid documents.
 */
import type { ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { startLoopbackServer } from './loopback-server.ts';

type Page = 'discovery' | 'keys';
/** Responds in place of the page. */
type Fault = (response: ServerResponse) => void;

export interface SigningIssuerOptions {
  /** The issuer's name; by default its address. */
  readonly url?: string;
  readonly algorithm?: string;
  readonly tls?: { readonly cert: string; readonly key: string };
}

export type SigningIssuer = Awaited<ReturnType<typeof startSigningIssuer>>;

export async function startSigningIssuer(options: SigningIssuerOptions = {}) {
  const algorithm = options.algorithm ?? 'ES256';
  const requests = { discovery: 0, keys: 0 };
  const faults: Partial<Record<Page, Fault>> = {};
  let count = 1;
  let current = await makeKey(algorithm, `key-${count}`);
  let published: readonly unknown[] = [current.publicKey];
  let document: Record<string, unknown> = {};

  const server = await startLoopbackServer((request, response) => {
    const page = request.url === '/keys' ? 'keys' : 'discovery';
    requests[page] += 1;
    const fault = faults[page];
    if (fault !== undefined) fault(response);
    else sendJSON(response, page === 'keys' ? { keys: published } : document);
  }, options);
  const url = options.url ?? server.origin;
  document = {
    issuer: url,
    jwks_uri: `${server.origin}/keys`,
    authorization_endpoint: `${server.origin}/auth`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [algorithm],
  };

  return {
    url,
    discoveryURL: `${server.origin}/.well-known/openid-configuration`,
    /** The number of requests for each page. */
    requests,
    faults,
    /** The current public keys. */
    get keys() {
      return [current.publicKey];
    },
    /** Changes the published documents. */
    publish(change: { discovery?: Record<string, unknown>; keys?: readonly unknown[] }) {
      document = { ...document, ...change.discovery };
      published = change.keys ?? published;
    },
    /** `iss`, `iat` and `exp` are added if they are missing in the payload. */
    sign(payload: Record<string, unknown>, header: Readonly<Record<string, unknown>> = {}) {
      const now = Math.floor(Date.now() / 1_000);
      return new SignJWT({ iss: url, iat: now, exp: now + 3_600, ...payload })
        .setProtectedHeader({ alg: algorithm, kid: current.kid, ...header })
        .sign(current.privateKey);
    },
    /** Signs with a new key from now on, and publishes only that key; by default with a new `kid`. */
    async rotate(kid?: string) {
      count += 1;
      current = await makeKey(algorithm, kid ?? `key-${count}`);
      published = [current.publicKey];
    },
    down: server.down,
    up: server.up,
  };
}

async function makeKey(algorithm: string, kid: string) {
  const { privateKey, publicKey } = await generateKeyPair(algorithm);
  return { kid, privateKey, publicKey: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' } };
}

function sendJSON(response: ServerResponse, body: unknown) {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}
