/**
 * A login at Keystone: `POST /v3/auth/tokens`, for people and for Stonegate itself. Keystone answers nearly every
 * refusal with the same 401, so that it cannot be told what was wrong; only the one that wants a second factor says so.
 * https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
 */
import { TOKEN_SPELLING } from '../api/keystone-v3.ts';
import { unauthorized } from '../errors/status-error.ts';
import { isJSONObject } from '../lib/json-object.ts';
import {
  createKeystoneHTTP,
  type KeystoneHTTP,
  type KeystoneHTTPOptions,
  type KeystoneResponse,
  keystoneUnavailable,
} from './keystone-http.ts';
import { readInstant } from './keystone-response.ts';

/** A domain, by its id or by its name. */
export type DomainName = { readonly id: string } | { readonly name: string };
/** What lives in a domain: a user, a project. An id says by itself in which. */
export type ReferenceInDomain =
  | { readonly id: string }
  | { readonly name: string; readonly domain: DomainName };

export type KeystoneAuthMethod =
  | { readonly method: 'password'; readonly user: ReferenceInDomain; readonly password: string }
  | { readonly method: 'token'; readonly token: string }
  | {
      readonly method: 'application_credential';
      readonly credential:
        | { readonly id: string }
        | { readonly name: string; readonly user: ReferenceInDomain };
      readonly secret: string;
    };

/** As it stands in the request. */
export type KeystoneLoginScope =
  | { readonly project: ReferenceInDomain }
  | { readonly domain: DomainName }
  | { readonly system: { readonly all: true } }
  | { readonly 'OS-TRUST:trust': { readonly id: string } }
  | 'unscoped';

export interface IssuedToken {
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export type KeystoneLogin =
  | { readonly issued: IssuedToken; readonly refused?: undefined; readonly secondFactors?: undefined }
  | RefusedLogin;

export interface RefusedLogin {
  readonly issued?: undefined;
  /** The status. */
  readonly refused: number;
  /** Where one factor is not enough: the methods Keystone would take together, one list each. */
  readonly secondFactors?: readonly (readonly string[])[];
}

/** The statuses by which Keystone refuses a credential. */
const LOGIN_REFUSALS: readonly number[] = [401, 403, 404];

/**
 * @param scope absent, Keystone takes the user's default project, or none where there is no such
 * @param now milliseconds since the epoch
 * @throws StatusError KeystoneUnavailable where Keystone says neither yes nor no
 */
export async function logIn(
  http: KeystoneHTTP,
  proof: KeystoneAuthMethod,
  scope: KeystoneLoginScope | undefined,
  now: number,
): Promise<KeystoneLogin> {
  const body = loginRequest(proof, scope);
  const answer = await http.exchange({
    method: 'POST',
    path: '/auth/tokens?nocatalog',
    body,
    refusals: LOGIN_REFUSALS,
  });
  const refused = readRefusal(answer);
  return refused ?? { issued: readIssued(answer, 201, now) };
}

/**
 * The same for a token that somebody has already: asks it about itself.
 *
 * @throws StatusError KeystoneUnavailable where Keystone says neither yes nor no
 */
export async function lookUpToken(http: KeystoneHTTP, token: string, now: number): Promise<KeystoneLogin> {
  if (!TOKEN_SPELLING.test(token)) return { refused: 404 };
  const answer = await http.exchange({
    method: 'GET',
    path: '/auth/tokens?nocatalog',
    headers: { 'x-auth-token': token, 'x-subject-token': token },
    refusals: LOGIN_REFUSALS,
  });
  return readRefusal(answer) ?? { issued: readIssued(answer, 200, now) };
}

/** The body of the request, with the secret in it. */
function loginRequest(proof: KeystoneAuthMethod, scope: KeystoneLoginScope | undefined): unknown {
  const identity = { methods: [proof.method], [proof.method]: factsOf(proof) };
  return { auth: { identity, ...(scope !== undefined && { scope }) } };
}

function factsOf(proof: KeystoneAuthMethod): unknown {
  switch (proof.method) {
    case 'password':
      return { user: { ...proof.user, password: proof.password } };
    case 'token':
      return { id: proof.token };
    case 'application_credential':
      return { ...proof.credential, secret: proof.secret };
  }
}

/** A front end's or a wrong address' 404 is not Keystone's: only Keystone's own shape speaks of a login. */
function readRefusal({ status, body }: KeystoneResponse): RefusedLogin | undefined {
  if (!LOGIN_REFUSALS.includes(status)) return undefined;
  if (isJSONObject(body.error) && body.error.code === status) return { refused: status };
  if (status !== 401 || !isJSONObject(body.receipt)) return undefined;
  return { refused: status, secondFactors: readRules(body.required_auth_methods) };
}

function readRules(value: unknown): string[][] {
  if (!Array.isArray(value)) return [];
  return value.filter((rule) => Array.isArray(rule)).map((rule: unknown[]) => rule.map(String));
}

/**
 * @param expected the status of success
 * @throws StatusError KeystoneUnavailable where the answer is no token, or one that has expired by our clock
 */
function readIssued(answer: KeystoneResponse, expected: 200 | 201, now: number): IssuedToken {
  if (answer.status !== expected)
    throw keystoneUnavailable(new Error(`Keystone answered a login ${answer.status}`));
  if (answer.token === undefined || !TOKEN_SPELLING.test(answer.token)) {
    throw keystoneUnavailable(new Error('Keystone answered a login without a token'));
  }
  const facts = isJSONObject(answer.body.token) ? answer.body.token : {};
  let expiresAt: number;
  try {
    expiresAt = readInstant(facts.expires_at, 'expires_at');
  } catch (error) {
    throw keystoneUnavailable(error);
  }
  if (expiresAt <= now)
    throw keystoneUnavailable(new Error('the new login has already expired: check the clocks'));
  return { token: answer.token, expiresAt };
}

/*
 * The projects a token could be exchanged for.
 * https://docs.openstack.org/api-ref/identity/v3/#get-available-project-scopes
 
 */

export interface AvailableProject {
  readonly id: string;
  readonly name: string;
}

/**
 * @returns without the disabled ones, which Keystone lists too
 * @throws StatusError KeystoneUnavailable where Keystone gives no list
 */
export async function listProjects(
  http: KeystoneHTTP,
  token: string,
  signal?: AbortSignal,
): Promise<AvailableProject[]> {
  const answer = await http.exchange({
    method: 'GET',
    path: '/auth/projects',
    headers: { 'x-auth-token': token },
    refusals: [],
    ...(signal !== undefined && { signal }),
  });
  const { projects } = answer.body;
  if (!Array.isArray(projects))
    throw keystoneUnavailable(new Error(`Keystone answered ${answer.status} without projects`));
  return projects.flatMap(readProject);
}

function readProject(value: unknown): AvailableProject[] {
  if (!isJSONObject(value) || value.enabled === false) return [];
  const { id, name } = value;
  return typeof id === 'string' && typeof name === 'string' ? [{ id, name }] : [];
}

/*
 * The names of a user's groups, asked for with the user's own token, as k8s-keystone-auth does: a token does not say
 * them. https://docs.openstack.org/api-ref/identity/v3/#list-groups-to-which-a-user-belongs
 
 */

export interface KeystoneGroupNames {
  /** @throws StatusError CredentialInvalid for a token that has died meanwhile, KeystoneUnavailable */
  list(userID: string, token: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

export function createKeystoneGroupNames(options: KeystoneHTTPOptions): KeystoneGroupNames {
  const http = createKeystoneHTTP(options);
  return {
    async list(userID, token) {
      const { status, body } = await http.exchange({
        method: 'GET',
        path: `/users/${encodeURIComponent(userID)}/groups`,
        headers: { 'x-auth-token': token },
        refusals: [],
      });
      if (status === 401) throw unauthorized('Keystone does not vouch for the token any more');
      const { groups } = body;
      if (status !== 200 || !Array.isArray(groups)) {
        throw keystoneUnavailable(new Error(`Keystone answered ${status} when asked for a user's groups`));
      }
      return groups.map((group: unknown) => {
        if (isJSONObject(group) && typeof group.name === 'string') return group.name;
        throw keystoneUnavailable(new Error('a group has no name'));
      });
    },
    close: () => http.close(),
  };
}
