/**
 * Explains why a server refused a token, from the user's own token and from what the server publishes. The
 * 401 itself does not say it.
 */
import { type ClientProvider, clientSetupSchema } from '../features/client-setup/client-setup-v1alpha1.ts';
import { type JSONObject, readJSONObject } from '../lib/json-object.ts';

export interface RefusedToken {
  /** Milliseconds since the epoch; undefined if only the token itself says it. */
  readonly expiresAt: number | undefined;
  readonly now: number;
  /** The document that the server publishes; any other value is ignored. */
  readonly setup: unknown;
}

/** @returns lines for the user; none if the token tells nothing */
export function refusalReasons(token: string, { expiresAt, now, setup }: RefusedToken): string[] {
  const [, id] = /^sgt_([0-9a-z]{8})/.exec(token) ?? [];
  if (id !== undefined)
    return [
      `It is the access token ${id}. With a login its owner sees what became of it: stonegate token list`,
    ];
  const claims = claimsOf(token);
  const end = typeof claims?.exp === 'number' ? claims.exp * 1000 : expiresAt;
  if (end !== undefined && end <= now)
    return [`The token expired at ${new Date(Math.max(0, end)).toISOString()}: log in again.`];
  // Keystone's tokens name no issuer, even if they are JWTs.
  if (typeof claims?.iss !== 'string')
    return end === undefined
      ? []
      : ['The token has not expired; it may have been revoked. Run stonegate logout.'];
  const { iss } = claims;
  const audiences = [claims.aud].flat().filter((each) => typeof each === 'string');
  const named = `The token is of the issuer ${iss}, for ${audiences.join(', ') || 'no audience'}.`;
  const providers = clientSetupSchema.safeParse(setup).data?.spec.oidc ?? [];
  const ofIssuer = providers.filter(({ issuer }) => issuer === iss);
  if (providers.length === 0) return [named];
  if (ofIssuer.length === 0) return [named, `The server names other issuers: ${list(providers, 'issuer')}`];
  if (!ofIssuer.some(({ clientID }) => audiences.includes(clientID)))
    return [named, `The server names another client of this issuer: ${list(ofIssuer, 'clientID')}`];
  return [named, 'The server names both, and the token has not expired.'];
}

function list(providers: readonly ClientProvider[], member: 'issuer' | 'clientID'): string {
  return [...new Set(providers.map((provider) => provider[member]))].join(', ');
}

/** @returns undefined if it is no JWT */
function claimsOf(token: string): JSONObject | undefined {
  const [, payload = '', signature] = token.split('.');
  return signature === undefined ? undefined : readJSONObject(Buffer.from(payload, 'base64url'));
}
