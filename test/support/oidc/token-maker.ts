/** An issuer with several names over TLS that signs any bytes, for tokens that no library creates. */
import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { KeyPair } from '../tls/authority.ts';
import { startLoopbackServer } from './loopback-server.ts';

const KEYS: Readonly<Record<string, KeyObject>> = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey,
  rsa2: generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey,
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  ec384: generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey,
};
const HALVES: Readonly<Record<string, number>> = { ES256: 32, ES384: 48, ES512: 66 };

export type TokenMaker = Awaited<ReturnType<typeof startTokenMaker>>;

export async function startTokenMaker(tls: KeyPair) {
  const server = await startLoopbackServer(
    (request, response) => {
      const issuer = `${server.origin}${request.url?.replace('/.well-known/openid-configuration', '')}`;
      const published = Object.entries(KEYS)
        .filter(([kid]) => kid !== 'rsa2')
        .map(([kid, key]) => ({
          ...publicJWK(key),
          kid,
          use: 'sig',
          ...(kid === 'rsa' ? { alg: 'RS256' } : {}),
        }));
      const keys = request.url === '/keys' ? { keys: published } : undefined;
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify(
          keys ?? {
            issuer,
            jwks_uri: `${server.origin}/keys`,
            authorization_endpoint: `${server.origin}/auth`,
            response_types_supported: ['code'],
            subject_types_supported: ['public'],
            id_token_signing_alg_values_supported: ['RS256'],
          },
        ),
      );
    },
    { tls },
  );
  return {
    origin: server.origin,
    /** @param payload JSON text, or an object that is encoded as JSON */
    token(payload: object | string, header: object = {}, key = 'rsa') {
      const parts = [{ alg: 'RS256', kid: key, typ: 'JWT', ...header }, payload].map((part) =>
        Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url'),
      );
      const signed = parts.join('.');
      const algorithm = 'alg' in header && typeof header.alg === 'string' ? header.alg : 'RS256';
      return `${signed}.${signature(algorithm, key, Buffer.from(signed)).toString('base64url')}`;
    },
    stop: () => server.down(),
  };
}

function publicJWK(key: KeyObject): object {
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...rest } = key.export({ format: 'jwk' });
  return rest;
}

function signature(algorithm: string, name: string, data: Buffer) {
  const key = KEYS[name];
  if (key === undefined || !/^(?:RS|PS|ES)\d{3}$/.test(algorithm)) return Buffer.from('none');
  const hash = `sha${algorithm.slice(2)}`;
  if (algorithm.startsWith('RS')) return sign(hash, data, key);
  if (algorithm.startsWith('PS'))
    return sign(hash, data, { key, padding: 6, saltLength: constants.RSA_PSS_SALTLEN_DIGEST });
  const made = sign(hash, data, { key, dsaEncoding: 'ieee-p1363' });
  const size = HALVES[algorithm] ?? 32;
  const halves = [made.subarray(0, made.length / 2), made.subarray(made.length / 2)];
  return Buffer.concat(
    halves.map((half) => Buffer.concat([Buffer.alloc(Math.max(0, size - half.length)), half])),
  );
}
