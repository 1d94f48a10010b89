/**
 * A real OpenID provider (`oidc-provider`) on loopback. Scripts get ID tokens without a browser by the
 * password grant of RFC 6749 §4.3, as with Keycloak and Dex; it is added here, since `oidc-provider` lacks
 * it. Users log in by code, device code and refresh token.
 */
import type { RequestListener } from 'node:http';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider, { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { DEVICE_PAGES } from './device-pages.ts';
import { answerInteraction, interactionPath, isInteraction } from './interactions.ts';
import { startLoopbackServer } from './loopback-server.ts';

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** Seconds between two polls of a device code; RFC 8628's default is for users. */
const DEVICE_INTERVAL = 0.02;
/** In seconds. */
const HOUR = 3_600;

export interface OidcUser {
  readonly password: string;
  /** Copied into the ID token; the default of `sub` is the user's key. */
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface OidcProviderOptions {
  /** With 0, the default, the system chooses a port. */
  readonly port?: number;
  readonly users: Readonly<Record<string, OidcUser>>;
  /** The audience of the ID tokens. */
  readonly clientID?: string;
  /** The lifetime of ID tokens in seconds; by default an hour. */
  readonly idTokenLife?: number;
  /** The secret of the client; by default it has none. */
  readonly clientSecret?: string;
  /** Clients that are websites. */
  readonly sites?: readonly OidcSite[];
  /** Whether responses contain `iss` (RFC 9207); many providers do not send it. */
  readonly namesItself?: boolean;
}

export interface OidcSite {
  readonly clientID: string;
  readonly clientSecret: string;
  readonly redirectURI: string;
}

export type OidcProvider = Awaited<ReturnType<typeof startOidcProvider>>;

export async function startOidcProvider(options: OidcProviderOptions) {
  const clientID = options.clientID ?? 'kubernetes';
  let count = 1;
  let keys = [await makeKey(count)];
  let handle: RequestListener | undefined;
  const server = await startLoopbackServer((request, response) => handle?.(request, response), options);
  const create = () => {
    const provider = createProvider(server.origin, clientID, options, keys);
    const answer = provider.callback();
    handle = (request, response) => {
      if (!isInteraction(request)) return void answer(request, response);
      answerInteraction(provider, options.users, request, response).catch((error: unknown) => {
        response.writeHead(400).end(String(error));
      });
    };
  };
  create();
  return {
    issuer: server.origin,
    clientID,
    /** Logs in with the user's password and returns the ID token. */
    async idToken(user: string) {
      const password = options.users[user]?.password ?? '';
      return requestIdToken({ issuer: server.origin, clientID, user, password });
    },
    /** Signs with a new key from now on, and publishes only that key. */
    async rotateKeys() {
      count += 1;
      keys = [await makeKey(count)];
      create();
    },
    down: server.down,
    up: server.up,
    close: server.down,
  };
}

/** The password grant, as a script without a browser uses it. */
async function requestIdToken(login: {
  readonly issuer: string;
  readonly clientID: string;
  readonly user: string;
  readonly password: string;
}) {
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
  if (typeof body === 'object' && body !== null && 'id_token' in body && typeof body.id_token === 'string')
    return body.id_token;
  throw new Error(`the provider gave no ID token: ${JSON.stringify(body)}`);
}

function createProvider(
  issuer: string,
  clientID: string,
  { users, idTokenLife = HOUR, clientSecret, sites = [], namesItself = true }: OidcProviderOptions,
  keys: readonly JWK[],
): Provider {
  const provider = new Provider(issuer, {
    adapter: createMapAdapter,
    clients: [
      {
        client_id: clientID,
        ...(clientSecret === undefined
          ? { token_endpoint_auth_method: 'none' as const }
          : { client_secret: clientSecret }),
        grant_types: ['password', 'authorization_code', 'refresh_token', DEVICE_GRANT],
        response_types: ['code'],
        // For native applications the port of a loopback address is ignored.
        redirect_uris: ['http://127.0.0.1/', 'http://localhost/', 'http://localhost:8000/'],
        application_type: 'native',
        id_token_signed_response_alg: 'ES256',
      },
      ...sites.map((site) => ({
        client_id: site.clientID,
        client_secret: site.clientSecret,
        redirect_uris: [site.redirectURI],
        id_token_signed_response_alg: 'ES256' as const,
      })),
    ],
    jwks: { keys: [...keys] },
    cookies: { keys: [crypto.randomUUID()] },
    features: {
      devInteractions: { enabled: false },
      deviceFlow: { enabled: true, ...DEVICE_PAGES },
      revocation: { enabled: true },
    },
    interactions: { url: (_ctx, { uid }) => interactionPath(uid) },
    findAccount: (_ctx, name) => {
      const user = Object.hasOwn(users, name) ? users[name] : undefined;
      return user && { accountId: name, claims: async () => ({ sub: name, ...user.claims }) };
    },
    // Claims are in the ID token, as with providers for kubectl, and not only at the userinfo endpoint.
    conformIdTokenClaims: false,
    claims: { openid: ['sub', ...Object.values(users).flatMap(({ claims }) => Object.keys(claims))] },
    scopes: ['openid', 'offline_access', 'profile', 'email'],
    ttl: {
      IdToken: idTokenLife,
      AccessToken: HOUR,
      DeviceCode: HOUR,
      Grant: HOUR,
      Interaction: HOUR,
      RefreshToken: HOUR,
      Session: HOUR,
    },
  });
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.path === '/device/auth' && ctx.status === 200)
      ctx.body = { ...ctx.body, interval: DEVICE_INTERVAL };
  });
  if (!namesItself)
    provider.use(async (ctx, next) => {
      await next();
      const location = ctx.response.get('location');
      if (URL.canParse(location)) ctx.set('location', withoutIss(location));
      if (ctx.path === '/.well-known/openid-configuration')
        ctx.body = { ...ctx.body, authorization_response_iss_parameter_supported: undefined };
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

function withoutIss(location: string) {
  const url = new URL(location);
  url.searchParams.delete('iss');
  return url.href;
}

async function makeKey(count: number): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: `provider-${count}`, alg: 'ES256', use: 'sig' };
}

/** The provider's storage for objects of one model, in memory. */
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
