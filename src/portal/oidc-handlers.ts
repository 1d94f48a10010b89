/**
 * Signing in with an issuer: the browser is sent there and comes back with a code. What has to be remembered in between
 * travels sealed in a cookie, so that it belongs to this browser, needs no memory here, and cannot fill any.
 * RFC 6749 §4.1, §10.12; RFC 9700 §2.1, §4.7.
 */
import type { Clock } from '../lib/clock.ts';
import { type Answer, seeOther } from './answer.ts';
import { beginSession } from './begin-session.ts';
import type { PortalContext } from './context.ts';
import { clearCookie, cookieOf, OIDC_COOKIE, setCookie } from './cookies.ts';
import type { OIDCTransaction, Provider, Sealer } from './ports.ts';
import { notFound, refusedByProvider, tooManySignIns, unknownSignIn } from './problem.ts';
import { redirectTarget } from './redirect-target.ts';
import type { PortalRequest } from './request.ts';

const CALLBACK = '/login/callback';
const SEALED_FOR = 'oidc';
/** Milliseconds somebody may take at the issuer. */
const PATIENCE = 600_000;

interface Begun extends OIDCTransaction {
  /** The provider's id. */
  readonly provider: string;
  readonly next: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export async function startOIDC({ query }: PortalRequest, context: PortalContext): Promise<Answer> {
  const { providers, origin, sealer, clock } = context;
  const provider = providers.find(({ id }) => id === query.get('provider'));
  if (provider === undefined) throw notFound();
  const { location, transaction } = await provider.login.begin(`${origin}${CALLBACK}`);
  const begun: Begun = {
    ...transaction,
    provider: provider.id,
    next: redirectTarget(query.get('next')),
    expiresAt: clock.now() + PATIENCE,
  };
  return seeOther(location, [setCookie(OIDC_COOKIE, sealer.seal(JSON.stringify(begun), SEALED_FOR))]);
}

export async function finishOIDC(request: PortalRequest, context: PortalContext): Promise<Answer> {
  const { exchange, query } = request;
  const { origin, providers, limit, sealer, clock, logger } = context;
  const begun = readBegun(cookieOf(exchange.headers, OIDC_COOKIE), sealer, clock);
  const provider = providers.find(({ id }) => id === begun?.provider);
  // Before the answer's state is known to be ours, nothing in it is worth showing.
  if (begun === undefined || provider === undefined || query.get('state') !== begun.state)
    throw unknownSignIn();
  if (limit.admit(request.source, undefined) !== undefined) throw tooManySignIns();
  const result = await provider.login.finish(new URL(`${CALLBACK}?${query.toString()}`, origin), begun);
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
