/**
 * Parses and validates Keystone's responses. Each function throws an Error that names the field and quotes
 * nothing of the response, which may contain a token.
 * https://docs.openstack.org/api-ref/identity/v3/
 */
import type {
  Delegation,
  DomainReference,
  KeystoneToken,
  RoleReference,
  Scope,
  UserReference,
} from '../api/keystone-v3.ts';
import type { AssignmentScope, RoleAssignment } from '../bindings/ports.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';

export function requireObject(value: unknown, what: string): JSONObject {
  if (!isJSONObject(value)) throw new Error(`${what} is no object`);
  return value;
}

export function requireArray(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${what} is no list`);
  return value;
}

export function requireString(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '') throw new Error(`${what} is no text`);
  return value;
}

export function requireBoolean(value: unknown, what: string): boolean {
  if (typeof value !== 'boolean') throw new Error(`${what} is no boolean`);
  return value;
}

/** Anything with an id and a name. */
export function readReference(value: unknown, what: string): DomainReference {
  const fields = requireObject(value, what);
  return { id: requireString(fields.id, `${what}.id`), name: requireString(fields.name, `${what}.name`) };
}

/** Anything with an id, a name and a domain. */
function readReferenceInDomain(value: unknown, what: string): DomainReference & { domain: DomainReference } {
  return {
    ...readReference(value, what),
    domain: readReference(requireObject(value, what).domain, `${what}.domain`),
  };
}

/** A token, or why this kind of token is not accepted. */
export type ReadToken =
  | { readonly token: KeystoneToken; readonly refused?: undefined }
  | { readonly token?: undefined; readonly refused: string };

const REFUSED_METHODS: ReadonlySet<string> = new Set(['ec2credential', 'oauth1']);
const REFUSED_MARKS = ['OS-OAUTH1', 'oauth2_credential'];
const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?$/;

/**
 * Parses the body of `GET /v3/auth/tokens`. Refused are: EC2, OAuth1 and certificate-bound tokens, whose
 * proofs a proxy cannot verify; application credentials with access rules, which Stonegate does not enforce;
 * scoped tokens without roles, whose rights were just revoked.
 *
 * @param body of a response with status 200
 * @throws Error that names the first invalid field
 */
export function readToken(body: JSONObject): ReadToken {
  const fields = requireObject(body.token, 'token');
  const methods = requireArray(fields.methods, 'methods').map((method) => requireString(method, 'methods[]'));
  const refused = refusedKind(fields, methods);
  if (refused !== undefined) return { refused };
  const scope = readTokenScope(fields);
  const roles =
    fields.roles === undefined
      ? []
      : requireArray(fields.roles, 'roles').map((role) => readReference(role, 'roles[]'));
  if (scope.kind === 'unscoped' && roles.length > 0) throw new Error('roles without a scope');
  if (scope.kind !== 'unscoped' && roles.length === 0) return { refused: 'scoped, but without any role' };
  const delegation = readDelegation(fields);
  const auditIDs = requireArray(fields.audit_ids, 'audit_ids').map((id) => requireString(id, 'audit_ids[]'));
  if (auditIDs.length === 0) throw new Error('audit_ids is empty');
  return {
    token: {
      user: readReferenceInDomain(fields.user, 'user'),
      scope,
      roles,
      federatedGroups: readFederatedGroups(requireObject(fields.user, 'user')),
      ...(delegation === undefined ? {} : { delegation }),
      methods,
      auditIDs,
      issuedAt: readInstant(fields.issued_at, 'issued_at'),
      expiresAt: readInstant(fields.expires_at, 'expires_at'),
    },
  };
}

/**
 * Parses a time as Keystone writes it. Without a zone it is UTC, unlike in JavaScript.
 *
 * @returns milliseconds since the epoch, truncated
 * @throws Error if the value is not a time
 */
export function readInstant(value: unknown, what: string): number {
  const match = INSTANT.exec(requireString(value, what));
  if (match === null) throw new Error(`${what} is no instant`);
  const [, seconds, fraction = '', zone = 'Z'] = match;
  const instant = Date.parse(`${seconds}.${fraction.padEnd(3, '0').slice(0, 3)}${zone}`);
  if (Number.isNaN(instant)) throw new Error(`${what} is no instant`);
  return instant;
}

function refusedKind(fields: JSONObject, methods: readonly string[]): string | undefined {
  if (methods.length === 0) return 'made by no known method';
  const method = methods.find((each) => REFUSED_METHODS.has(each));
  if (method !== undefined) return `made by the method ${method}`;
  const mark = REFUSED_MARKS.find((each) => Object.hasOwn(fields, each));
  if (mark !== undefined) return `bound by ${mark}`;
  if (fields.is_domain === true) return 'scoped to a project that acts as a domain';
  const credential = fields.application_credential;
  if (!isJSONObject(credential) || credential.access_rules === undefined) return undefined;
  return requireArray(credential.access_rules, 'access_rules').length > 0
    ? 'limited by access rules'
    : undefined;
}

function readTokenScope(fields: JSONObject): Scope {
  const scopes: Scope[] = [];
  if (fields.project !== undefined)
    scopes.push({ kind: 'project', project: readReferenceInDomain(fields.project, 'project') });
  if (fields.domain !== undefined)
    scopes.push({ kind: 'domain', domain: readReference(fields.domain, 'domain') });
  if (fields.system !== undefined) {
    if (requireObject(fields.system, 'system').all !== true) throw new Error('system is not all of it');
    scopes.push({ kind: 'system' });
  }
  if (scopes.length > 1) throw new Error('more than one scope');
  return scopes[0] ?? { kind: 'unscoped' };
}

function readDelegation(fields: JSONObject): Delegation | undefined {
  const delegations: Delegation[] = [];
  if (fields.application_credential !== undefined) {
    const credential = requireObject(fields.application_credential, 'application_credential');
    delegations.push({
      kind: 'application-credential',
      id: requireString(credential.id, 'application_credential.id'),
    });
  }
  if (fields['OS-TRUST:trust'] !== undefined) {
    const trust = requireObject(fields['OS-TRUST:trust'], 'OS-TRUST:trust');
    if (typeof trust.impersonation !== 'boolean')
      throw new Error('OS-TRUST:trust.impersonation is no boolean');
    delegations.push({
      kind: 'trust',
      id: requireString(trust.id, 'OS-TRUST:trust.id'),
      trusteeUserID: requireString(requireObject(trust.trustee_user, 'trustee_user').id, 'trustee_user.id'),
      impersonation: trust.impersonation,
    });
  }
  if (delegations.length > 1) throw new Error('more than one delegation');
  return delegations[0];
}

function readFederatedGroups(user: JSONObject): string[] {
  const federation = user['OS-FEDERATION'];
  if (federation === undefined) return [];
  const { groups = [] } = requireObject(federation, 'user.OS-FEDERATION');
  return requireArray(groups, 'OS-FEDERATION.groups').map((group) =>
    requireString(requireObject(group, 'group').id, 'group.id'),
  );
}

/**
 * A role on the system, assigned to a user or to a group. `effective` lists no such assignments, so group
 * members and implied roles are resolved by Stonegate.
 */
export interface SystemAssignment {
  readonly holder: { readonly user: UserReference } | { readonly groupID: string };
  readonly role: RoleReference;
}

/** Role id → the roles it implies. */
export type Implications = ReadonlyMap<string, readonly RoleReference[]>;

/** @throws Error if the value is not an effective assignment */
export function readAssignment(value: unknown): RoleAssignment {
  const fields = requireObject(value, 'role_assignments[]');
  return {
    user: readReferenceInDomain(fields.user, 'user'),
    role: readReference(fields.role, 'role'),
    scope: readAssignmentScope(requireObject(fields.scope, 'scope')),
  };
}

/**
 * An inherited assignment does not count on its own scope: `effective` lists it for each project below.
 *
 * @throws Error if the value is not a scope
 */
function readAssignmentScope(scope: JSONObject): AssignmentScope {
  if (scope.project !== undefined)
    return { kind: 'project', project: readReferenceInDomain(scope.project, 'project') };
  if (scope.domain !== undefined) return { kind: 'domain', domain: readReference(scope.domain, 'domain') };
  if (requireObject(scope.system, 'scope.system').all !== true)
    throw new Error('the scope is none that is known');
  return { kind: 'system' };
}

/** @throws Error if the value is not an assignment on the system */
export function readSystemAssignment(value: unknown): SystemAssignment {
  const fields = requireObject(value, 'role_assignments[]');
  if (readAssignmentScope(requireObject(fields.scope, 'scope')).kind !== 'system')
    throw new Error('the scope is not the system');
  return {
    holder:
      fields.group === undefined
        ? { user: readReferenceInDomain(fields.user, 'user') }
        : { groupID: requireString(requireObject(fields.group, 'group').id, 'group.id') },
    role: readReference(fields.role, 'role'),
  };
}

/** One of `GET /v3/role_inferences`, as an entry of the map. */
export function readImplication(value: unknown): [string, readonly RoleReference[]] {
  const fields = requireObject(value, 'role_inferences[]');
  const implied = requireArray(fields.implies, 'implies').map((role) => readReference(role, 'implies[]'));
  return [requireString(requireObject(fields.prior_role, 'prior_role').id, 'prior_role.id'), implied];
}

/** The roles and all roles that they imply, each once. */
export function withImpliedRoles(
  roles: readonly RoleReference[],
  implications: Implications,
): RoleReference[] {
  const found = new Map(roles.map((role) => [role.id, role]));
  // Iteration over a map includes entries that are added meanwhile.
  for (const id of found.keys()) {
    for (const role of implications.get(id) ?? []) if (!found.has(role.id)) found.set(role.id, role);
  }
  return [...found.values()];
}
