/**
 * Schemas of Keystone's responses. A response of another form is an error that names the field and quotes
 * nothing of the response, which may contain a token.
 * https://docs.openstack.org/api-ref/identity/v3/
 */
import { z } from 'zod';
import { parseTimestamp } from '../../lib/go-time.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import { firstProblem } from '../../lib/parse-json.ts';
import type { AssignmentScope, Delegation, KeystoneToken, RoleReference } from '../../tenancy/keystone-v3.ts';
import { keystoneUnavailable } from './keystone-http.ts';

/** @throws StatusError KeystoneUnavailable if the value is not of the schema */
export function readAs<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const { data, success } = schema.safeParse(value);
  if (success) return data;
  throw keystoneUnavailable(firstProblem(schema, value, what));
}

const text = z.string().min(1);

/** Anything with an id and a name. */
export const referenceSchema = z.object({ id: text, name: text });
/** Anything with an id, a name and a domain. */
const inDomainSchema = z.object({ id: text, name: text, domain: referenceSchema });

/** A time as Keystone writes it; without a zone it is UTC. Read as milliseconds since the epoch. */
export const instantSchema = z.string().transform((written, context) => {
  const instant = parseTimestamp(/(?:Z|[+-]\d\d:\d\d)$/.test(written) ? written : `${written}Z`);
  if (instant !== undefined) return instant;
  context.addIssue('no instant');
  return z.NEVER;
});

const scopeFields = {
  project: inDomainSchema.optional(),
  domain: referenceSchema.optional(),
  system: z.object({ all: z.literal(true) }).optional(),
};

/** The scopes that are there: a token has one at most, an assignment exactly one. */
function scopesIn({ project, domain, system }: z.infer<z.ZodObject<typeof scopeFields>>): AssignmentScope[] {
  return [
    ...(project === undefined ? [] : [{ kind: 'project', project } as const]),
    ...(domain === undefined ? [] : [{ kind: 'domain', domain } as const]),
    ...(system === undefined ? [] : [{ kind: 'system' } as const]),
  ];
}

const tokenSchema = z.object({
  methods: z.array(text),
  user: inDomainSchema.extend({
    'OS-FEDERATION': z.object({ groups: z.array(z.object({ id: text })).default([]) }).optional(),
  }),
  ...scopeFields,
  is_domain: z.unknown().optional(),
  roles: z.array(referenceSchema).default([]),
  application_credential: z.object({ id: text, access_rules: z.array(z.unknown()).default([]) }).optional(),
  'OS-TRUST:trust': z
    .object({ id: text, impersonation: z.boolean(), trustee_user: z.object({ id: text }) })
    .optional(),
  'OS-OAUTH1': z.unknown().optional(),
  oauth2_credential: z.unknown().optional(),
  audit_ids: z.array(text).min(1),
  issued_at: instantSchema,
  expires_at: instantSchema,
});
type TokenFields = z.infer<typeof tokenSchema>;

/** A token, or why this kind of token is not accepted. */
export type ReadToken =
  | { readonly token: KeystoneToken; readonly refused?: undefined }
  | { readonly token?: undefined; readonly refused: string };

const REFUSED_METHODS: ReadonlySet<string> = new Set(['ec2credential', 'oauth1']);
const REFUSED_FIELDS = ['OS-OAUTH1', 'oauth2_credential'] as const;

/**
 * Reads the body of `GET /v3/auth/tokens`. Refused are: EC2, OAuth1 and certificate-bound tokens, whose
 * proofs a proxy cannot verify; application credentials with access rules, which Stonegate does not enforce;
 * scoped tokens without roles, whose rights were just revoked.
 *
 * @param body of a response with status 200
 * @throws StatusError KeystoneUnavailable
 */
export function readToken(body: JSONObject): ReadToken {
  const fields = readAs(tokenSchema, body.token, 'token');
  const refused = refusedKind(fields);
  if (refused !== undefined) return { refused };
  const { roles, methods, audit_ids: auditIDs } = fields;
  const { 'OS-FEDERATION': federation, ...user } = fields.user;
  const [scope = { kind: 'unscoped' } as const, ...scopes] = scopesIn(fields);
  const [delegation, ...delegations] = delegationsIn(fields);
  if (scopes.length > 0 || delegations.length > 0)
    throw keystoneUnavailable('more than one scope or delegation');
  if (scope.kind === 'unscoped' && roles.length > 0) throw keystoneUnavailable('roles without a scope');
  if (scope.kind !== 'unscoped' && roles.length === 0) return { refused: 'scoped, but without any role' };
  return {
    token: {
      user,
      scope,
      roles,
      federatedGroups: federation?.groups.map(({ id }) => id) ?? [],
      ...(delegation && { delegation }),
      methods,
      auditIDs,
      issuedAt: fields.issued_at,
      expiresAt: fields.expires_at,
    },
  };
}

function refusedKind(fields: TokenFields): string | undefined {
  const { methods, application_credential: credential } = fields;
  if (methods.length === 0) return 'made by no known method';
  const method = methods.find((each) => REFUSED_METHODS.has(each));
  if (method !== undefined) return `made by the method ${method}`;
  const field = REFUSED_FIELDS.find((each) => fields[each] !== undefined);
  if (field !== undefined) return `bound by ${field}`;
  if (fields.is_domain === true) return 'scoped to a project that acts as a domain';
  // Older Keystone versions drop the credential, and its access rules, from a rescoped token.
  if (methods.includes('application_credential') && delegationsIn(fields).length === 0)
    return 'made from an application credential that it does not name';
  return credential !== undefined && credential.access_rules.length > 0
    ? 'limited by access rules'
    : undefined;
}

function delegationsIn({
  application_credential: credential,
  'OS-TRUST:trust': trust,
}: TokenFields): Delegation[] {
  return [
    ...(credential === undefined ? [] : [{ kind: 'application-credential', id: credential.id } as const]),
    ...(trust === undefined
      ? []
      : [
          {
            kind: 'trust',
            id: trust.id,
            trusteeUserID: trust.trustee_user.id,
            impersonation: trust.impersonation,
          } as const,
        ]),
  ];
}

/** An inherited assignment does not count on its own scope: `effective` lists it for each project below. */
const assignmentScopeSchema = z.object(scopeFields).transform((fields, context): AssignmentScope => {
  const [scope] = scopesIn(fields);
  if (scope !== undefined) return scope;
  context.addIssue('no known scope');
  return z.NEVER;
});

/** An effective assignment of a role to a user. */
export const assignmentSchema = z.object({
  user: inDomainSchema,
  role: referenceSchema,
  scope: assignmentScopeSchema,
});

/**
 * A role on the system, assigned to a user or to a group. `effective` lists no such assignments, so group
 * members and implied roles are resolved by Stonegate.
 */
export const systemAssignmentSchema = z.object({
  user: z.object({ id: text }).optional(),
  group: z.object({ id: text }).optional(),
  role: referenceSchema,
  scope: z.object({ system: z.object({ all: z.literal(true) }) }),
});

/** One of `GET /v3/role_inferences`. */
export const inferenceSchema = z.object({
  prior_role: z.object({ id: text }),
  implies: z.array(referenceSchema),
});

/** The roles and all roles that they imply, each once. */
export function withImpliedRoles(
  roles: readonly RoleReference[],
  inferences: readonly z.infer<typeof inferenceSchema>[],
): RoleReference[] {
  const implied = new Map(inferences.map(({ prior_role, implies }) => [prior_role.id, implies]));
  const found = new Map(roles.map((role) => [role.id, role]));
  // Iteration over a map includes entries that are added meanwhile.
  for (const id of found.keys())
    for (const role of implied.get(id) ?? []) if (!found.has(role.id)) found.set(role.id, role);
  return [...found.values()];
}
