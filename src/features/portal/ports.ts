/**
 * The interfaces the portal needs from outside. A mistake of the user is a result; a failure of a backend is
 * thrown as a StatusError.
 */

import type { KubernetesIdentity } from '../../proxy/identity-source.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { AccessMatrix } from '../access-rules/access-matrix.ts';

export interface ProjectName {
  readonly id: string;
  readonly name: string;
}

/**
 * A user's session. It has no credential: an attacker who reads all sessions learns names and can act as no
 * user. The Kubernetes identity is derived for each page, as the API does it.
 */
export interface Session {
  readonly identity: Identity;
  /** Undefined if the user signed in with Keystone. */
  readonly issuer?: string;
  /** Keystone projects that the user may sign in to. */
  readonly projects: readonly ProjectName[];
  /** Milliseconds since the epoch; never after the credential's own end. */
  readonly expiresAt: number;
}

export interface PasswordSignIn {
  readonly user: string;
  readonly domain: string;
  readonly password: string;
  /** Undefined: Keystone uses the user's default project, or none. */
  readonly project: string | undefined;
}

export type PasswordResult =
  | { readonly token: string; readonly projects: readonly ProjectName[] }
  | { readonly refused: 'wrong' | 'second-factor' };

export interface PasswordLogin {
  /** @throws StatusError KeystoneUnavailable */
  signIn(request: PasswordSignIn, signal: AbortSignal): Promise<PasswordResult>;
}

/** The secrets of an authorization request: `state`, `nonce` and the PKCE code verifier. */
export interface OIDCTransaction {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** `refused` is the issuer's error text: it is shown to the user and decides nothing. */
export type OIDCResult = { readonly idToken: string } | { readonly refused: string };

/** The authorization code flow. RFC 6749 §4.1; RFC 7636; OpenID Connect Core 1.0 §3.1. */
export interface OIDCLogin {
  /**
   * @returns `location`: the URL of the authorization request
   * @throws StatusError IssuerUnavailable
   */
  begin(redirectURI: string): Promise<{ readonly location: string; readonly transaction: OIDCTransaction }>;
  /**
   * @param callback the redirect URI with the authorization response in its query
   * @throws StatusError IssuerUnavailable if the issuer cannot be reached or its response cannot be used
   */
  finish(callback: URL, transaction: OIDCTransaction): Promise<OIDCResult>;
}

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
  readonly scopes: readonly string[];
  readonly login: OIDCLogin;
}

export interface AccessView {
  readonly matrix: AccessMatrix;
  readonly roles: readonly {
    readonly kind: string;
    readonly name: string;
    readonly everywhere: boolean;
    readonly namespaces: readonly string[];
  }[];
  /** Roles whose names the user may not read. */
  readonly hiddenRoles: number;
  /** Further roles, of which nothing is known here. */
  readonly moreRoles: number;
  /** Why the user may have other access; undefined if this is all. */
  readonly incompleteReason: string | undefined;
}

/** What a user may do, from the RBAC index. */
export interface AccessSource {
  /** @throws StatusError if the index has never been complete, or roles cannot be looked up */
  accessOf(identity: Identity): Promise<AccessView>;
}

export interface SessionStore {
  /** @returns false if it could not be stored */
  save(id: string, session: Session, identity: KubernetesIdentity): Promise<boolean>;
  find(id: string): Promise<Session | undefined>;
  /** @returns false if it may still exist */
  remove(id: string): Promise<boolean>;
}

/** Authenticated encryption and MACs with a key that all replicas share. */
export interface Sealer {
  /** @returns base64url */
  seal(text: string, purpose: string): string;
  /** @returns undefined if the text was not sealed for this purpose */
  open(sealed: string, purpose: string): string | undefined;
  /** @returns base64url */
  mac(parts: readonly string[]): string;
  verify(mac: string, parts: readonly string[]): boolean;
}

export interface SignInRateLimit {
  /**
   * @param user whose password is tried; undefined for a sign-in with an issuer
   * @returns the limit that is reached
   */
  admit(source: string, user: string | undefined): 'source' | 'user' | undefined;
}
