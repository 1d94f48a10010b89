/**
 * A real OpenID provider (`oidc-provider`) on loopback. Scripts get ID tokens with RFC 6749 §4.3's password grant,
 * as Keycloak and Dex offer it to theirs: it needs no browser. It is added as a grant of its own, since
 * `oidc-provider` has none; checking passwords is ours, issuing and signing is the provider's.
 */
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider, { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { startLoopbackServer } from './loopback-server.ts';

export interface OidcUser {
  readonly password: string;
  /** Into the ID token as they are; `sub` is the user's key unless it stands here. */
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface OidcProviderOptions {
  /** 0, the default, lets the system choose. */
  readonly port?: number;
  readonly users: Readonly<Record<string, OidcUser>>;
  /** The audience of the ID tokens. */
  readonly clientID?: string;
  /** Of ID tokens, in seconds; an hour without it. */
  readonly idTokenLife?: number;
}

export interface OidcProvider {
  readonly issuer: string;
  readonly clientID: string;
  /** Logs in with the user's password and returns the ID token. */
  idToken(user: string): Promise<string>;
  /** Signs with a new key from now on. The old one stays published when asked for. */
  rotateKeys(options?: { keepOld: boolean }): Promise<void>;
  down(): Promise<void>;
  up(): Promise<void>;
  close(): Promise<void>;
}

export async function startOidcProvider(options: OidcProviderOptions): Promise<OidcProvider> {
  const clientID = options.clientID ?? 'kubernetes';
  let count = 1;
  let keys = [await makeKey(count)];
  let handle: ReturnType<Provider['callback']> | undefined;
  const server = await startLoopbackServer((request, response) => void handle?.(request, response), options);
  const create = (): void => {
    handle = createProvider(server.origin, clientID, options, keys).callback();
  };
  create();
  return {
    issuer: server.origin,
    clientID,
    async idToken(user) {
      const password = options.users[user]?.password ?? '';
      return requestIdToken({ issuer: server.origin, clientID, user, password });
    },
    async rotateKeys({ keepOld } = { keepOld: false }) {
      count += 1;
      keys = [await makeKey(count), ...(keepOld ? keys : [])];
      create();
    },
    down: server.down,
    up: server.up,
    close: server.down,
  };
}

/** The password grant, as a script without a browser uses it. */
export async function requestIdToken(login: {
  readonly issuer: string;
  readonly clientID: string;
  readonly user: string;
  readonly password: string;
}): Promise<string> {
  const response = await fetch(`${login.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'password',
      client_id: login.clientID,
      username: login.user,
      password: login.password,
      scope: 'openid',
    }),
  });
  const body: unknown = await response.json();
  if (typeof body === 'object' && body !== null && 'id_token' in body && typeof body.id_token === 'string') {
    return body.id_token;
  }
  throw new Error(`the provider gave no ID token: ${JSON.stringify(body)}`);
}

function createProvider(
  issuer: string,
  clientID: string,
  { users, idTokenLife = 3_600 }: OidcProviderOptions,
  keys: readonly JWK[],
): Provider {
  const provider = new Provider(issuer, {
    adapter: createMapAdapter,
    clients: [
      {
        client_id: clientID,
        token_endpoint_auth_method: 'none',
        grant_types: ['password', 'authorization_code'],
        response_types: ['code'],
        redirect_uris: ['http://localhost:8000/'],
        application_type: 'native',
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [...keys] },
    cookies: { keys: [crypto.randomUUID()] },
    features: { devInteractions: { enabled: false } },
    ttl: { IdToken: idTokenLife },
  });
  provider.registerGrantType<{ username?: string; password?: string; scope?: string }>(
    'password',
    async (ctx) => {
      const { username = '', password } = ctx.oidc.params;
      const user = Object.hasOwn(users, username) ? users[username] : undefined;
      if (user === undefined || user.password !== password)
        throw new errors.InvalidGrant('wrong user or password');
      const token = new provider.IdToken({}, { ctx });
      for (const [claim, value] of Object.entries({ sub: username, ...user.claims })) token.set(claim, value);
      ctx.body = { id_token: await token.issue({ use: 'idtoken' }), token_type: 'Bearer', scope: 'openid' };
    },
    ['username', 'password', 'scope'],
  );
  return provider;
}

async function makeKey(count: number): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: `provider-${count}`, alg: 'ES256', use: 'sig' };
}

/** What the provider stores of one kind of thing, for as long as it runs. */
function createMapAdapter(): Adapter {
  const entries = new Map<string, AdapterPayload>();
  const findBy = (name: 'userCode' | 'uid', value: string): AdapterPayload | undefined =>
    [...entries.values()].find((entry) => entry[name] === value);
  return {
    async upsert(id, payload) {
      entries.set(id, payload);
    },
    find: async (id) => entries.get(id),
    findByUserCode: async (userCode) => findBy('userCode', userCode),
    findByUid: async (uid) => findBy('uid', uid),
    async consume(id) {
      const entry = entries.get(id);
      if (entry !== undefined) entries.set(id, { ...entry, consumed: Math.floor(Date.now() / 1_000) });
    },
    async destroy(id) {
      entries.delete(id);
    },
    async revokeByGrantId(grantId) {
      for (const [id, entry] of entries) if (entry.grantId === grantId) entries.delete(id);
    },
  };
}
