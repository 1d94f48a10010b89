/**
 * Requests to Keystone with a user's own credential: login (`POST /v3/auth/tokens`), the user's projects and
 * groups. Keystone gives nearly every refused login the same 401; only a required second factor is
 * distinguishable.
 * https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
 */
import { z } from 'zod';
import { unauthorized } from '../../errors/status-error.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import { TOKEN_SPELLING } from '../../tenancy/keystone-v3.ts';
import {
  createKeystoneHTTP,
  isRefusal,
  type KeystoneHTTP,
  type KeystoneHTTPOptions,
  type KeystoneResponse,
  keystoneUnavailable,
} from './keystone-http.ts';
import { instantSchema, readAs, referenceSchema } from './keystone-response.ts';

/** A domain, by its id or by its name. */
export type DomainName = { readonly id: string } | { readonly name: string };
/** A user or a project of a domain. An id needs no domain. */
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

/** The scope as it stands in the request's body. */
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
  /** Names the user and the scope of the token in words. */
  readonly holder?: string;
}

export type KeystoneLogin =
  | { readonly issued: IssuedToken; readonly refused?: undefined; readonly secondFactors?: undefined }
  | RefusedLogin;

export interface RefusedLogin {
  readonly issued?: undefined;
  /** The HTTP status. */
  readonly refused: number;
  /** If a second factor is required: the accepted combinations of methods. */
  readonly secondFactors?: readonly (readonly string[])[];
}

/** `nocatalog`: the catalog is large and not needed. */
export const TOKENS = '/auth/tokens?nocatalog';

/** The statuses by which Keystone refuses a credential. */
const LOGIN_REFUSALS: readonly number[] = [401, 403, 404];

/**
 * @param scope if absent, Keystone uses the user's default project, or none
 * @param now milliseconds since the epoch
 * @throws StatusError KeystoneUnavailable if Keystone neither accepts nor refuses the login
 */
export async function logIn(
  http: KeystoneHTTP,
  proof: KeystoneAuthMethod,
  scope: KeystoneLoginScope | undefined,
  now: number,
): Promise<KeystoneLogin> {
  const body = loginRequest(proof, scope);
  const response = await http.exchange({
    method: 'POST',
    path: TOKENS,
    body,
    refusals: LOGIN_REFUSALS,
  });
  return readRefusal(response) ?? { issued: readIssued(response, 201, now) };
}

/**
 * Validates an existing token with itself.
 *
 * @throws StatusError KeystoneUnavailable if Keystone neither accepts nor refuses it
 */
export async function lookUpToken(http: KeystoneHTTP, token: string, now: number): Promise<KeystoneLogin> {
  if (!TOKEN_SPELLING.test(token)) return { refused: 404 };
  const response = await http.exchange({
    method: 'GET',
    path: TOKENS,
    headers: { 'x-auth-token': token, 'x-subject-token': token },
    refusals: LOGIN_REFUSALS,
  });
  return readRefusal(response) ?? { issued: readIssued(response, 200, now) };
}

/**
 * Revokes a token with itself.
 *
 * @returns false if Keystone does not accept it any more
 * @throws StatusError KeystoneUnavailable if Keystone neither revokes nor refuses it
 */
export async function revokeToken(http: KeystoneHTTP, token: string): Promise<boolean> {
  const { status } = await http.exchange({
    method: 'DELETE',
    path: '/auth/tokens',
    headers: { 'x-auth-token': token, 'x-subject-token': token },
    refusals: LOGIN_REFUSALS,
  });
  return status === 204;
}

/** The body of the request, with the secret in it. */
function loginRequest(proof: KeystoneAuthMethod, scope: KeystoneLoginScope | undefined): unknown {
  const identity = { methods: [proof.method], [proof.method]: methodFields(proof) };
  return { auth: { identity, ...(scope !== undefined && { scope }) } };
}

function methodFields(proof: KeystoneAuthMethod): unknown {
  switch (proof.method) {
    case 'password':
      return { user: { ...proof.user, password: proof.password } };
    case 'token':
      return { id: proof.token };
    case 'application_credential':
      return { ...proof.credential, secret: proof.secret };
  }
}

function readRefusal(response: KeystoneResponse): RefusedLogin | undefined {
  const { status, body } = response;
  if (isRefusal(response, LOGIN_REFUSALS)) return { refused: status };
  if (status !== 401 || !isJSONObject(body.receipt)) return undefined;
  return { refused: status, secondFactors: readRules(body.required_auth_methods) };
}

function readRules(value: unknown): string[][] {
  if (!Array.isArray(value)) return [];
  return value.filter((rule) => Array.isArray(rule)).map((rule: unknown[]) => rule.map(String));
}

const named = z.object({ name: z.string() });
const issuedSchema = z.object({
  expires_at: instantSchema,
  user: named.extend({ domain: named }).optional(),
  project: named.optional(),
  domain: named.optional(),
  system: z.unknown().optional(),
});

/**
 * @param expected the status of success
 * @throws StatusError KeystoneUnavailable if the response has no token, or an expired one
 */
function readIssued(response: KeystoneResponse, expected: 200 | 201, now: number): IssuedToken {
  if (response.status !== expected) throw keystoneUnavailable(`Keystone answered a login ${response.status}`);
  if (response.token === undefined || !TOKEN_SPELLING.test(response.token)) {
    throw keystoneUnavailable('Keystone answered a login without a token');
  }
  const { expires_at: expiresAt, ...facts } = readAs(issuedSchema, response.body.token, 'token');
  if (expiresAt <= now) throw keystoneUnavailable('the new login has already expired: check the clocks');
  const holder = holderOf(facts);
  return { token: response.token, expiresAt, ...(holder !== undefined && { holder }) };
}

function holderOf({
  user,
  project,
  domain,
  system,
}: Omit<z.infer<typeof issuedSchema>, 'expires_at'>): string | undefined {
  if (user === undefined) return undefined;
  const scope = project
    ? `project ${project.name}`
    : domain
      ? `domain ${domain.name}`
      : system === undefined
        ? 'no project'
        : 'the system';
  return `${user.name} of the domain ${user.domain.name}, ${scope}`;
}

const projectsSchema = z.array(referenceSchema.extend({ enabled: z.boolean().optional() }));

export type AvailableProject = Readonly<z.infer<typeof referenceSchema>>;

/**
 * The projects for which a token can be requested.
 * https://docs.openstack.org/api-ref/identity/v3/#get-available-project-scopes
 *
 * @returns without disabled projects, which Keystone lists too
 * @throws StatusError KeystoneUnavailable if the response has no list
 */
export async function listProjects(
  http: KeystoneHTTP,
  token: string,
  signal?: AbortSignal,
): Promise<AvailableProject[]> {
  const response = await http.exchange({
    method: 'GET',
    path: '/auth/projects',
    headers: { 'x-auth-token': token },
    refusals: [],
    ...(signal !== undefined && { signal }),
  });
  return readAs(projectsSchema, response.body.projects, 'projects')
    .filter(({ enabled }) => enabled !== false)
    .map(({ id, name }) => ({ id, name }));
}

const groupsSchema = z.array(z.object({ name: z.string() }));

export interface KeystoneGroupNames {
  /**
   * Lists the names of a user's groups with the user's own token, as k8s-keystone-auth does.
   * https://docs.openstack.org/api-ref/identity/v3/#list-groups-to-which-a-user-belongs
   *
   * @throws StatusError CredentialInvalid for a token that is no longer valid, KeystoneUnavailable
   */
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
      if (status !== 200)
        throw keystoneUnavailable(`Keystone answered ${status} when asked for a user's groups`);
      return readAs(groupsSchema, body.groups, 'groups').map(({ name }) => name);
    },
    close: () => http.close(),
  };
}
