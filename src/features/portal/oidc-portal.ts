/**
 * The portal's login at an OpenID provider: authorization code with PKCE, state and nonce. Only the ID token
 * is used, and the API's own authenticator validates it.
 * OpenID Connect Core 1.0 §3.1; RFC 7636; RFC 9207 (`iss`).
 */
import type { Configuration } from 'openid-client';
import { StatusError } from '../../errors/status-error.ts';
import { createIssuerHTTP } from '../../identity/oidc/oidc-http.ts';
import { explainOidcError } from '../../identity/oidc/oidc-login-error.ts';
import {
  beginCodeLogin,
  discoverProvider,
  finishCodeLogin,
  type OidcProviderOptions,
} from '../../identity/oidc/oidc-provider.ts';
import type { Clock } from '../../lib/clock.ts';
import { SingleFlight } from '../../lib/single-flight.ts';
import type { OIDCLogin } from './ports.ts';

/** Milliseconds after which the discovery document is read again. */
const MAX_AGE = 3_600_000;

export interface OidcPortalOptions extends Omit<OidcProviderOptions, 'signal'> {
  readonly scopes: readonly string[];
  /** PEM; when given, only these authorities are trusted. */
  readonly ca?: string | Buffer | undefined;
  readonly clock: Clock;
}

export interface OidcPortalLogin extends OIDCLogin {
  /** Cancels all requests. */
  close(): Promise<void>;
}

/** The provider is discovered at the first login: it may be down when Stonegate starts. */
export function createOidcPortalLogin(options: OidcPortalOptions): OidcPortalLogin {
  const { issuer, scopes, clock } = options;
  const http = createIssuerHTTP({ ca: options.ca });
  const closing = new AbortController();
  const flight = new SingleFlight<Configuration>();
  let known: { readonly configuration: Configuration; readonly until: number } | undefined;

  async function configuration(): Promise<Configuration> {
    if (known !== undefined && clock.now() < known.until) return known.configuration;
    return flight.do('discovery', async () => {
      const found = await discoverProvider({ ...options, signal: closing.signal }, http);
      known = { configuration: found, until: clock.now() + MAX_AGE };
      return found;
    });
  }

  /** Not the user's error; the details are for the log only. */
  const unavailable = (reason: string): StatusError =>
    new StatusError(
      'IssuerUnavailable',
      `the issuer ${issuer} cannot be asked, or its answer cannot be used: try again later`,
      { cause: reason },
    );

  return {
    async begin(redirectURI) {
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
    async finish(callback, transaction) {
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
    async close() {
      closing.abort();
      await http.close();
    },
  };
}
