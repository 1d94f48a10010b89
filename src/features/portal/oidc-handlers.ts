/**
 * Sign-in with an issuer by the authorization code flow with PKCE. The state of an authorization request is
 * sealed in a cookie: it belongs to this browser and needs no memory here.
 * RFC 6749 §4.1, §10.12; RFC 9700 §2.1, §4.4, §4.7.
 */
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { parseJSON } from '../../lib/parse-json.ts';
import type { PortalContext } from './context.ts';
import { clearCookie, cookieOf, OIDC_COOKIE, setCookie } from './cookies.ts';
import type { Provider } from './oidc-portal.ts';
import type { Sealer } from './portal-storage.ts';
import {
  misdirectedResponse,
  notFound,
  refusedByProvider,
  tooManySignIns,
  unknownSignIn,
} from './problem.ts';
import { type PortalRequest, redirectTarget } from './request.ts';
import { type PortalResponse, seeOther } from './response.ts';
import { beginSession } from './session.ts';

const SEALED_FOR = 'oidc';
/** Milliseconds from the authorization request to its response. */
const AUTHORIZATION_TIMEOUT = 600_000;

/** Another version of Stonegate may have sealed it. */
const authorizationRequestSchema = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  issuer: z.string(),
  /** The path of the redirect URI. */
  callback: z.string(),
  next: z.string(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
});
type AuthorizationRequest = z.infer<typeof authorizationRequestSchema>;

/**
 * The path of an issuer's redirect URI. Each issuer has its own, against mix-up attacks: with a shared one, a
 * hostile issuer could have an honest issuer's code sent to itself (RFC 9700 §4.4.2.2).
 */
export function callbackPath({ name }: Pick<Provider, 'name'>): string {
  return `/login/callback/${name}`;
}

export async function startOIDC({ query }: PortalRequest, context: PortalContext): Promise<PortalResponse> {
  const { providers, origin, sealer, clock } = context;
  const provider = providers.find(({ name }) => name === query.get('provider'));
  if (provider === undefined) throw notFound();
  const callback = callbackPath(provider);
  const { location, transaction } = await provider.login.begin(`${origin}${callback}`);
  const request: AuthorizationRequest = {
    ...transaction,
    issuer: provider.issuer,
    callback,
    next: redirectTarget(query.get('next'), context),
    expiresAt: clock.now() + AUTHORIZATION_TIMEOUT,
  };
  return seeOther(location, [setCookie(OIDC_COOKIE, sealer.seal(JSON.stringify(request), SEALED_FOR))]);
}

/** @param provider the one whose redirect URI was called */
export async function finishOIDC(
  provider: Provider,
  request: PortalRequest,
  context: PortalContext,
): Promise<PortalResponse> {
  const { exchange, path, query, source } = request;
  const { origin, limit, sealer, clock, logger } = context;
  const sent = openRequest(cookieOf(exchange.headers, OIDC_COOKIE), sealer, clock);
  // Nothing of the authorization response is shown before its state is verified.
  if (sent === undefined || query.get('state') !== sent.state) throw unknownSignIn();
  // A reload may have given the path to another issuer, or the issuer another path.
  if (sent.issuer !== provider.issuer || sent.callback !== path) {
    const issuers = { issuer: sent.issuer, answered: provider.issuer };
    logger.warn({ source, ...issuers }, 'portal: an authorization response came to another redirect URI');
    throw misdirectedResponse().with(clearCookie(OIDC_COOKIE));
  }
  if (limit.admit(source, undefined) !== undefined) throw tooManySignIns();
  const result = await provider.login.finish(new URL(`${path}?${query.toString()}`, origin), sent);
  if ('refused' in result) {
    logger.info({ issuer: provider.issuer, refused: result.refused }, 'portal: the issuer refused a sign-in');
    throw refusedByProvider(provider.displayName, result.refused).with(clearCookie(OIDC_COOKIE));
  }
  const credential = { kind: 'bearer', token: result.idToken } as const;
  const { issuer } = provider;
  return beginSession({ credential, issuer, projects: [], next: sent.next }, request, context);
}

function openRequest(
  sealed: string | undefined,
  sealer: Sealer,
  clock: Clock,
): AuthorizationRequest | undefined {
  const text = sealed === undefined ? undefined : sealer.open(sealed, SEALED_FOR);
  if (text === undefined) return undefined;
  const request = parseJSON(text, authorizationRequestSchema);
  return request !== undefined && clock.now() < request.expiresAt ? request : undefined;
}
