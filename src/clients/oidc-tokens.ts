/**
 * What a provider's token endpoint gives, as far as a login wants it.
 * OpenID Connect Core 1.0 §3.1.3.3.
 */
import type { TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client';
import { OidcLoginError } from './oidc-login-error.ts';

/** Secret, both of them. */
export interface OidcTokens {
  readonly idToken: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly refreshToken?: string;
}

export type TokenAnswer = TokenEndpointResponse & TokenEndpointResponseHelpers;

/** @throws OidcLoginError where there is no ID token */
export function tokensOf(answer: TokenAnswer, issuer: string): OidcTokens {
  const claims = answer.claims();
  if (answer.id_token === undefined || claims === undefined) {
    throw new OidcLoginError('invalid', `${issuer}: the provider gave no ID token`);
  }
  return {
    idToken: answer.id_token,
    expiresAt: claims.exp * 1_000,
    ...(answer.refresh_token === undefined ? {} : { refreshToken: answer.refresh_token }),
  };
}

/**
 * @param idToken one that was checked when it was new
 * @returns undefined where it holds none
 */
export function subjectOf(idToken: string): unknown {
  try {
    const payload: unknown = JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString());
    return typeof payload === 'object' && payload !== null && 'sub' in payload ? payload.sub : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
