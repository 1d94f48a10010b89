/**
 * The tokens of the stand-in Keystone: opaque strings, whose owners it stores. Roles are determined at each
 * validation, as in a real Keystone, so a token becomes invalid without roles in its scope and valid again
 * with them.
 */
import { randomBytes } from 'node:crypto';
import type { ApplicationCredential, Directory, Role, Target, Trust, User } from './directory.ts';

export interface TokenRecord {
  readonly string: string;
  readonly user: User;
  /** Undefined if the token is unscoped. */
  readonly scope: Target | undefined;
  readonly methods: readonly string[];
  readonly auditIDs: readonly string[];
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly applicationCredential?: ApplicationCredential;
  readonly trust?: Trust;
  revoked: boolean;
}

export interface IssueOptions {
  readonly methods?: readonly string[];
  /** The lifetime in milliseconds; by default an hour. */
  readonly life?: number;
  /** The token from which this one was created. */
  readonly parent?: TokenRecord;
  readonly applicationCredential?: ApplicationCredential;
  readonly trust?: Trust;
}

/** `gone`: Keystone does not find its user or project, which it reports differently from a dead token. */
export type TokenState = 'alive' | 'dead' | 'gone';

export type TokenStore = ReturnType<typeof createTokenStore>;

export function createTokenStore(options: { readonly directory: Directory; readonly now: () => number }) {
  const { directory, now } = options;
  const records = new Map<string, TokenRecord>();

  function rolesOf(record: TokenRecord): Role[] {
    const { scope, trust, applicationCredential } = record;
    if (scope === undefined) return [];
    const held = directory.rolesOf(trust?.trustor ?? record.user, scope);
    const delegated = trust?.roles ?? applicationCredential?.roles;
    return delegated === undefined ? held : held.filter((role) => delegated.includes(role));
  }

  return {
    find: (string: string) => records.get(string),
    rolesOf,
    issue(user: User, scope: Target | undefined, given: IssueOptions = {}): TokenRecord {
      // Keystone stores whole seconds.
      const issuedAt = Math.floor(now() / 1000) * 1000;
      const auditID = randomBytes(16).toString('base64url');
      const methods = given.methods ?? ['password'];
      const expiresAt = given.parent?.expiresAt ?? issuedAt + (given.life ?? 3_600_000);
      const record: TokenRecord = {
        string: `gAAAAAB${randomBytes(132).toString('base64url')}`,
        user,
        scope,
        methods,
        auditIDs: [auditID, ...(given.parent?.auditIDs.slice(-1) ?? [])],
        issuedAt,
        expiresAt,
        ...(given.applicationCredential && { applicationCredential: given.applicationCredential }),
        ...(given.trust && { trust: given.trust }),
        revoked: false,
      };
      records.set(record.string, record);
      return record;
    },
    revokeAllOf(user: User) {
      for (const record of records.values()) if (record.user === user) record.revoked = true;
    },
    stateOf(record: TokenRecord): TokenState {
      const { user, scope, trust, applicationCredential } = record;
      if (record.revoked || record.expiresAt <= now() || !user.enabled) return 'dead';
      if (trust?.deleted || applicationCredential?.deleted || trust?.trustor.enabled === false) return 'dead';
      if (user.deleted || !user.domain.enabled) return 'gone';
      if (scope === undefined) return 'alive';
      if ('project' in scope) {
        const { project } = scope;
        if (project.deleted || !project.enabled || !project.domain.enabled) return 'gone';
      }
      if ('domain' in scope && !scope.domain.enabled) return 'gone';
      return rolesOf(record).length > 0 ? 'alive' : 'dead';
    },
    /** The body of the responses to a login and to a validation. */
    bodyOf: (record: TokenRecord): unknown => ({ token: facts(record, rolesOf(record)) }),
  };
}

function facts(record: TokenRecord, roles: readonly Role[]): Record<string, unknown> {
  const { user, scope, trust, applicationCredential } = record;
  const domain = ({ id, name }: { id: string; name: string }) => ({ id, name });
  const federation = {
    'OS-FEDERATION': {
      groups: user.federatedGroups.map((id) => ({ id })),
      identity_provider: { id: 'idp' },
      protocol: { id: 'openid' },
    },
  };
  return {
    methods: record.methods,
    user: {
      domain: domain(user.domain),
      id: user.id,
      name: user.name,
      ...(user.federatedGroups.length > 0 ? federation : { password_expires_at: null }),
    },
    audit_ids: record.auditIDs,
    expires_at: instant(record.expiresAt),
    issued_at: instant(record.issuedAt),
    ...(trust && {
      'OS-TRUST:trust': {
        id: trust.id,
        trustor_user: { id: trust.trustor.id },
        trustee_user: { id: trust.trustee.id },
        impersonation: trust.impersonation,
      },
    }),
    ...(scope &&
      'project' in scope && { project: { ...domain(scope.project), domain: domain(scope.project.domain) } }),
    ...(scope && 'project' in scope && !trust && { is_domain: false }),
    ...(scope && 'domain' in scope && { domain: domain(scope.domain) }),
    ...(scope && 'system' in scope && { system: { all: true } }),
    ...(scope && { roles: roles.map((role) => (trust ? trustRole(role) : domain(role))) }),
    ...(applicationCredential && {
      application_credential: {
        id: applicationCredential.id,
        name: applicationCredential.name,
        restricted: true,
        ...(applicationCredential.accessRules?.length && { access_rules: applicationCredential.accessRules }),
      },
    }),
  };
}

function trustRole({ id, name }: Role) {
  return { id, name, domain_id: null, description: null, options: {} };
}

function instant(milliseconds: number) {
  return new Date(milliseconds).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z');
}
