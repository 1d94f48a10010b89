/**
 * Authentication by static tokens and client certificates, and impersonation with the rights it needs. The
 * tenant of an impersonated user is the text before the first colon of the name, as in Arktos.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */
import type { IncomingMessage } from 'node:http';
import { type PeerCertificate, TLSSocket } from 'node:tls';
import type { Flavour } from './kinds.ts';
import type { Rbac } from './rbac.ts';
import { SERVER_AUDIENCE } from './service-account-tokens.ts';
import { ApiError, forbidden, unauthorized } from './statuses.ts';

export interface User {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
  /** Empty in a cluster without tenants. */
  readonly tenant: string;
}

/** A user of the static token list. */
export interface TokenUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  /** Defaults to `system`. */
  readonly tenant?: string;
  /** The audiences of the token; by default the server itself. */
  readonly audiences?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number;
}

const AUTHENTICATED = 'system:authenticated';
const AUTHENTICATION_GROUP = 'authentication.k8s.io';

/**
 * The user of a token for one of these audiences, as a token review reports it.
 *
 * @param audiences the server's own unless a review names others
 */
export function userOfToken(
  tokens: ReadonlyMap<string, TokenUser>,
  token: string,
  flavour: Flavour,
  audiences: readonly string[] = [SERVER_AUDIENCE],
): User | undefined {
  const known = tokens.get(token);
  if (known === undefined || (known.expiresAt ?? Number.POSITIVE_INFINITY) <= Date.now()) return undefined;
  if (!audiencesOf(known).some((one) => audiences.includes(one))) return undefined;
  return {
    username: known.username,
    uid: known.uid ?? '',
    groups: [...(known.groups ?? []), AUTHENTICATED],
    extra: {},
    tenant: flavour === 'arktos' ? (known.tenant ?? 'system') : '',
  };
}

export function audiencesOf({ audiences = [SERVER_AUDIENCE] }: TokenUser): readonly string[] {
  return audiences;
}

/**
 * A valid certificate takes precedence over any token, as in kube-apiserver.
 *
 * @throws ApiError 401 if the request has no valid credential
 */
export function authenticate(
  request: IncomingMessage,
  tokens: ReadonlyMap<string, TokenUser>,
  flavour: Flavour,
): User {
  const { socket } = request;
  if (socket instanceof TLSSocket && socket.authorized)
    return userOfCertificate(socket.getPeerCertificate(), flavour);
  const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const user = token === undefined ? undefined : userOfToken(tokens, token, flavour);
  if (user === undefined) throw unauthorized();
  return user;
}

/** Arktos reads `O=tenant:T` with groups in OU; otherwise the tenant is the name up to the first colon. */
function userOfCertificate({ subject }: PeerCertificate, flavour: Flavour): User {
  const list = (value: string | string[] | undefined) =>
    value === undefined ? [] : Array.isArray(value) ? value : [value];
  const username = list(subject.CN)[0] ?? '';
  const organizations = list(subject.O);
  const base = { username, uid: '', extra: {} };
  if (flavour === 'kubernetes') return { ...base, groups: [...organizations, AUTHENTICATED], tenant: '' };
  const tenant = /^tenant:(.+)$/.exec(organizations[0] ?? '')?.[1];
  if (tenant === undefined)
    return { ...base, groups: [...organizations, AUTHENTICATED], tenant: tenantOfName(username) };
  if (organizations.length > 1) throw unauthorized();
  return { ...base, groups: [...list(subject.OU), AUTHENTICATED], tenant };
}

/** The tenant that Arktos reads from a user name; empty if the name has no colon. */
export function tenantOfName(username: string) {
  const colon = username.indexOf(':');
  return colon < 0 ? '' : username.slice(0, colon);
}

interface Impersonation {
  readonly user: string | undefined;
  readonly uid: string | undefined;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/** Every impersonation header; UTF-8 as Go reads it, extra keys lower-cased and unescaped. */
function readImpersonation(request: IncomingMessage, flavour: Flavour): Impersonation {
  let user: string | undefined;
  let uid: string | undefined;
  const groups: string[] = [];
  const extra = new Map<string, string[]>();
  for (let i = 0; i + 1 < request.rawHeaders.length; i += 2) {
    const name = (request.rawHeaders[i] ?? '').toLowerCase();
    const value = Buffer.from(request.rawHeaders[i + 1] ?? '', 'latin1').toString('utf8');
    if (name === 'impersonate-user') user ??= value;
    else if (name === 'impersonate-uid' && flavour === 'kubernetes') uid ??= value;
    else if (name === 'impersonate-group') groups.push(value);
    else if (name.startsWith('impersonate-extra-')) {
      const key = unescapeKey(name.slice('impersonate-extra-'.length));
      extra.set(key, [...(extra.get(key) ?? []), value]);
    }
  }
  return { user, uid, groups, extra };
}

function unescapeKey(key: string) {
  try {
    return decodeURIComponent(key);
  } catch (error) {
    if (error instanceof URIError) return key;
    throw error;
  }
}

/**
 * @returns the user whom the request impersonates; the caller if no header names another user
 * @throws ApiError 403 if a right to impersonate is missing, 500 for groups without a user
 */
export function impersonate(
  request: IncomingMessage,
  impersonator: User,
  rbac: Rbac,
  flavour: Flavour,
): User {
  const requested = readImpersonation(request, flavour);
  if (requested.user === undefined) {
    if (requested.groups.length === 0 && requested.extra.size === 0 && requested.uid === undefined)
      return impersonator;
    throw new ApiError(
      500,
      'InternalError',
      'Internal error occurred: impersonation was asked for without a user',
      {},
    );
  }
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(requested.user);
  const require = (group: string, resource: string, subresource: string, name: string, namespace = '') => {
    const target = { group, resource, subresource, name, namespace, tenant: '' };
    const attributes = {
      ...target,
      user: impersonator,
      verb: 'impersonate',
      isResourceRequest: true,
      path: '',
    };
    if (!rbac.authorize(attributes).allowed)
      throw forbidden({ ...target, userName: impersonator.username, verb: 'impersonate' });
  };
  if (account) require('', 'serviceaccounts', '', account[2] ?? '', account[1] ?? '');
  else require('', 'users', '', requested.user);
  for (const group of requested.groups) require('', 'groups', '', group);
  for (const [key, values] of requested.extra)
    for (const value of values) require(AUTHENTICATION_GROUP, 'userextras', key, value);
  if (requested.uid !== undefined) require(AUTHENTICATION_GROUP, 'uids', '', requested.uid);
  const tenant = flavour === 'kubernetes' ? '' : tenantOfName(requested.user);
  return {
    username: requested.user,
    uid: requested.uid ?? '',
    groups: groupsOf(requested.groups, account?.[1], flavour),
    extra: Object.fromEntries(requested.extra),
    tenant,
  };
}

/** Arktos adds `system:authenticated` only if no group was sent; newer servers always add it. */
function groupsOf(asked: readonly string[], accountNamespace: string | undefined, flavour: Flavour) {
  const groups =
    accountNamespace !== undefined && asked.length === 0
      ? ['system:serviceaccounts', `system:serviceaccounts:${accountNamespace}`]
      : [...asked];
  const add = flavour === 'kubernetes' ? !groups.includes(AUTHENTICATED) : asked.length === 0;
  return add ? [...groups, AUTHENTICATED] : groups;
}
