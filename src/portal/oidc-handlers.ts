/**
 * Signing in with an issuer: the browser is sent there and comes back with a code. What has to be remembered in between
 * travels sealed in a cookie, so that it belongs to this browser, needs no memory here, and cannot fill any.
 * RFC 6749 §4.1, §10.12; RFC 9700 §2.1, §4.4, §4.7.
 */
import type { Clock } from '../lib/clock.ts';
import { type Answer, seeOther } from './answer.ts';
import { beginSession } from './begin-session.ts';
import { callbackOf } from './callback.ts';
import type { PortalContext } from './context.ts';
import { clearCookie, cookieOf, OIDC_COOKIE, setCookie } from './cookies.ts';
import type { OIDCTransaction, Provider, Sealer } from './ports.ts';
import { misdirectedAnswer, notFound, refusedByProvider, tooManySignIns, unknownSignIn } from './problem.ts';
import { redirectTarget } from './redirect-target.ts';
import type { PortalRequest } from './request.ts';

const SEALED_FOR = 'oidc';
/** Milliseconds somebody may take at the issuer. */
const PATIENCE = 600_000;

interface Begun extends OIDCTransaction {
  readonly issuer: string;
  /** The path at which the answer is awaited. */
  readonly callback: string;
  readonly next: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export async function startOIDC({ query }: PortalRequest, context: PortalContext): Promise<Answer> {
  const { providers, origin, sealer, clock } = context;
  const provider = providers.find(({ name }) => name === query.get('provider'));
  if (provider === undefined) throw notFound();
  const callback = callbackOf(provider);
  const { location, transaction } = await provider.login.begin(`${origin}${callback}`);
  const begun: Begun = {
    ...transaction,
    issuer: provider.issuer,
    callback,
    next: redirectTarget(query.get('next')),
    expiresAt: clock.now() + PATIENCE,
  };
  return seeOther(location, [setCookie(OIDC_COOKIE, sealer.seal(JSON.stringify(begun), SEALED_FOR))]);
}

/** @param provider whose address the browser has come back to */
export async function finishOIDC(
  provider: Provider,
  request: PortalRequest,
  context: PortalContext,
): Promise<Answer> {
  const { exchange, path, query, source } = request;
  const { origin, limit, sealer, clock, logger } = context;
  const begun = readBegun(cookieOf(exchange.headers, OIDC_COOKIE), sealer, clock);
  // Before the answer's state is known to be ours, nothing in it is worth showing.
  if (begun === undefined || query.get('state') !== begun.state) throw unknownSignIn();
  // A reload may have given the path to another issuer, or the issuer another path.
  if (begun.issuer !== provider.issuer || begun.callback !== path) {
    const issuers = { issuer: begun.issuer, answered: provider.issuer };
    logger.warn({ source, ...issuers }, 'portal: an answer came to an address it was not asked for at');
    throw misdirectedAnswer().with(clearCookie(OIDC_COOKIE));
  }
  if (limit.admit(source, undefined) !== undefined) throw tooManySignIns();
  const result = await provider.login.finish(new URL(`${path}?${query.toString()}`, origin), begun);
  if ('refused' in result) {
    logger.info({ issuer: provider.issuer, refused: result.refused }, 'portal: the issuer refused a sign-in');
    throw refusedByProvider(provider.displayName, result.refused).with(clearCookie(OIDC_COOKIE));
  }
  return beginSession(proofOf(result.idToken, provider, begun), request, context);
}

function proofOf(idToken: string, { issuer }: Provider, { next }: Begun) {
  return { credential: { kind: 'bearer', token: idToken } as const, issuer, projects: [], next };
}

function readBegun(sealed: string | undefined, sealer: Sealer, clock: Clock): Begun | undefined {
  const text = sealed === undefined ? undefined : sealer.open(sealed, SEALED_FOR);
  if (text === undefined) return undefined;
  const begun: Begun = JSON.parse(text);
  return clock.now() < begun.expiresAt ? begun : undefined;
}
