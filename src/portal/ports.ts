/**
 * What the portal needs of the rest of the house. Each port is small and tells in its result what a person did wrong;
 * what is nobody's fault is thrown as a StatusError.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity, TenantName } from '../api/identity.ts';
import type { ProjectName, Session } from './session.ts';

export interface PasswordSignIn {
  readonly user: string;
  readonly domain: string;
  readonly password: string;
  /** Without it Keystone picks the user's default project, or none. */
  readonly project: string | undefined;
}

export type PasswordResult =
  | { readonly token: string; readonly projects: readonly ProjectName[] }
  | { readonly refused: 'wrong' | 'second-factor' };

export interface PasswordLogin {
  /** @throws StatusError KeystoneUnavailable */
  signIn(request: PasswordSignIn, signal: AbortSignal): Promise<PasswordResult>;
}

/** What is kept of a sign-in that has been sent to its issuer; secret. */
export interface OIDCTransaction {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** `refused`: why, in the issuer's words; to be shown, never to be acted upon. */
export type OIDCResult = { readonly idToken: string } | { readonly refused: string };

/** An issuer's side of the authorization code flow. RFC 6749 §4.1; RFC 7636; OpenID Connect Core 1.0 §3.1. */
export interface OIDCLogin {
  /**
   * @returns where the browser is to be sent
   * @throws StatusError IssuerUnavailable
   */
  begin(redirectURI: string): Promise<{ readonly location: string; readonly transaction: OIDCTransaction }>;
  /**
   * @param callback the address the issuer sent the browser back to, with its query
   * @throws StatusError IssuerUnavailable where it cannot be asked, or its answer cannot be used
   */
  finish(callback: URL, transaction: OIDCTransaction): Promise<OIDCResult>;
}

/** An issuer as the portal offers it. */
export interface Provider {
  /** A DNS label that no other has: its part of links and of the address it sends browsers back to. */
  readonly name: string;
  readonly displayName: string;
  readonly issuer: string;
  /** The client that `stonegate login` uses. */
  readonly kubectlClientID: string;
  /** Where that comes back to, where it is not `stonegate login`'s usual address. */
  readonly kubectlRedirectURI: string | undefined;
  readonly scopes: readonly string[];
  readonly login: OIDCLogin;
}

/** How the Kubernetes API knows somebody. */
export interface KubernetesIdentity {
  readonly tenant: TenantName;
  readonly user: UserInfo;
}

/** The API's own authenticators and tenancy mode. */
export interface IdentitySource {
  /** @throws StatusError as the API would refuse the credential */
  authenticate(
    credential: { readonly kind: 'bearer' | 'x-auth-token'; readonly token: string },
    source: string,
  ): Promise<Identity>;
  /** @throws StatusError where the identity is nobody here */
  describe(identity: Identity): KubernetesIdentity;
}

export interface SessionStore {
  /** @returns false where it could not be kept */
  save(id: string, session: Session, identity: KubernetesIdentity): Promise<boolean>;
  find(id: string): Promise<Session | undefined>;
  /** @returns false where nobody knows whether it is gone */
  remove(id: string): Promise<boolean>;
}

/** Makes texts that only this Stonegate, in all its replicas, can have made. */
export interface Sealer {
  /** @returns base64url */
  seal(text: string, purpose: string): string;
  /** @returns undefined for whatever was not sealed for this purpose */
  open(sealed: string, purpose: string): string | undefined;
  /** @returns base64url */
  mac(parts: readonly string[]): string;
  verify(mac: string, parts: readonly string[]): boolean;
}

export interface SignInRateLimit {
  /**
   * @param user whose password is tried; undefined where an issuer asks for it
   * @returns whose bound is reached, if one is
   */
  admit(source: string, user: string | undefined): 'source' | 'user' | undefined;
}
