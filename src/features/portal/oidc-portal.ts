/**
 * The portal's login at an OpenID provider: authorization code with PKCE, state and nonce. Only the ID token
 * is used, and the API's own authenticator validates it.
 * OpenID Connect Core 1.0 §3.1; RFC 7636; RFC 9207 (`iss`).
 */
import { StatusError } from '../../errors/status-error.ts';
import { createIssuerHTTP } from '../../identity/oidc/oidc-http.ts';
import { explainOidcError } from '../../identity/oidc/oidc-login-error.ts';
import {
  type BegunCodeLogin,
  beginCodeLogin,
  discoverProvider,
  finishCodeLogin,
  type OidcProviderOptions,
} from '../../identity/oidc/oidc-provider.ts';
import type { Clock } from '../../lib/clock.ts';
import { memoizeFor } from '../../lib/memoize.ts';

/** Milliseconds after which the discovery document is read again. */
const MAX_AGE = 3_600_000;

export interface OIDCLoginOptions extends Omit<OidcProviderOptions, 'signal'> {
  readonly scopes: readonly string[];
  /** PEM; when given, only these authorities are trusted. */
  readonly ca?: string | Buffer | undefined;
  readonly clock: Clock;
}

/** `refused` is the issuer's error text: it is shown to the user and decides nothing. */
export type OIDCResult = { readonly idToken: string } | { readonly refused: string };

export type OIDCLogin = ReturnType<typeof createOIDCLogin>;

/** An identity provider that users can sign in with. */
export interface Provider {
  /** A unique DNS label: part of links and of the redirect URI. */
  readonly name: string;
  readonly displayName: string;
  readonly issuer: string;
  /** The client ID of `stonegate login`. */
  readonly kubectlClientID: string;
  /** The redirect URI of `stonegate login`, if it is not the default one. */
  readonly kubectlRedirectURI: string | undefined;
  /** PEM; undefined: the system's CAs. */
  readonly ca?: string | undefined;
  readonly scopes: readonly string[];
  readonly login: Pick<OIDCLogin, 'begin' | 'finish'>;
}

/** The provider is discovered at the first login: it may be down when Stonegate starts. */
export function createOIDCLogin(options: OIDCLoginOptions) {
  const { issuer, scopes, clock } = options;
  const http = createIssuerHTTP({ ca: options.ca });
  const closing = new AbortController();
  const configuration = memoizeFor(MAX_AGE, clock, () =>
    discoverProvider({ ...options, signal: closing.signal }, http),
  );

  /** Not the user's error; the details are for the log only. */
  const unavailable = (reason: string): StatusError =>
    new StatusError(
      'IssuerUnavailable',
      `the issuer ${issuer} cannot be asked, or its answer cannot be used: try again later`,
      { cause: reason },
    );

  return {
    /**
     * @returns the URL of the authorization request, and its secrets
     * @throws StatusError IssuerUnavailable
     */
    async begin(redirectURI: string) {
      try {
        const { url, ...transaction } = await beginCodeLogin(await configuration(), {
          redirect_uri: redirectURI,
          scope: [...new Set(['openid', ...scopes])].join(' '),
        });
        return { location: url, transaction };
      } catch (error) {
        throw unavailable(explainOidcError(error, issuer).message);
      }
    },
    /**
     * @param callback the redirect URI with the authorization response in its query
     * @throws StatusError IssuerUnavailable if the issuer cannot be reached or its response cannot be used
     */
    async finish(callback: URL, transaction: Omit<BegunCodeLogin, 'url'>): Promise<OIDCResult> {
      try {
        const { idToken } = await finishCodeLogin(await configuration(), callback, transaction, issuer);
        return { idToken };
      } catch (error) {
        const { kind, message } = explainOidcError(error, issuer);
        // The page already names the issuer.
        if (kind === 'refused') return { refused: message.replace(`${issuer}: `, '') };
        throw unavailable(message);
      }
    },
    /** Cancels all requests. */
    async close(): Promise<void> {
      closing.abort();
      await http.close();
    },
  };
}
