/** Sources for every page of the portal: as many rows as a test wants, and changes that always succeed. */
import type { Member } from '../../src/features/members/member-v1alpha1.ts';
import type { PageSources } from '../../src/features/portal/context.ts';
import type { ShownTeam } from '../../src/features/teams/team-v1alpha1.ts';
import type { ShownToken } from '../../src/features/tokens/feature.ts';
import { toTenantName } from '../../src/tenancy/tenant-name.ts';

const AT = '2026-11-26T09:00:00Z';

/** The numbers of rows; each has its number in its name: `user-17`. */
export interface PageRows {
  readonly members?: number;
  readonly namespaces?: number;
  readonly tokens?: number;
  readonly teams?: number;
  readonly usersOfTeam?: number;
  readonly invitations?: number;
  readonly resources?: number;
}

type EverySource = { readonly [Name in keyof PageSources]-?: NonNullable<PageSources[Name]> };

export function pageSources(rows: PageRows = {}): EverySource {
  const { members = 1, namespaces = 1, tokens = 1, teams = 1, usersOfTeam = 1, resources = 1 } = rows;
  const token = tokenNamed('token-0');
  const member = memberNamed('user-0');
  const done = { result: member, notes: [] };
  const invitation = invitationNamed('invitation-0');
  const offer = {
    ...{ namespace: 'shop', role: 'read', inviter: 'acme:bob' },
    ...{ accepted: true, expirationTimestamp: AT },
  };
  return {
    access: {
      accessOf: async () => ({
        ...{ matrix: { groups: [], moreGroups: 0 }, roles: [], hiddenRoles: 0, moreRoles: 0 },
        incompleteReason: undefined,
      }),
    },
    namespacesOf: async () => ['shop', ...numbered('namespace', namespaces)],
    quota: {
      quotaOf: async () => ({
        metadata: { name: 'acme', uid: 'u', creationTimestamp: AT },
        spec: { hard: Object.fromEntries(numbered('count/kind', resources).map((name) => [name, '10'])) },
        status: {},
      }),
    },
    tokens: {
      longestLife: () => 30 * 24 * 3_600_000,
      list: () => numbered('token', tokens).map(tokenNamed),
      create: async () => token,
      rotate: async () => token,
      revoke: async () => token,
    },
    members: {
      namespaces: async () => ['shop', ...numbered('namespace', namespaces)],
      list: async () => ({ result: numbered('user', members).map(memberNamed), notes: [] }),
      add: async () => done,
      set: async () => done,
      remove: async () => done,
    },
    teams: {
      callerOf: async () => ({
        tenant: toTenantName('acme'),
        home: undefined,
        user: { username: 'acme:alice', uid: '', groups: [], extra: {} },
        sender: { kind: 'stonegate' },
        account: { kind: 'tenant', tenant: toTenantName('acme') },
        signal: new AbortController().signal,
      }),
      mayCreate: async () => true,
      list: async () => numbered('team', teams).map((name) => teamNamed(name, usersOfTeam)),
      get: async (_, name) => teamNamed(name, usersOfTeam),
      create: async () => teamNamed('web', 0),
      update: async () => teamNamed('web', 0),
      delete: async () => teamNamed('web', 0),
    },
    invitations: {
      offered: () => offer,
      show: async () => offer,
      accept: async () => offer,
      invite: async () => invitation,
      list: async () => numbered('invitation', rows.invitations ?? 0).map(invitationNamed),
      withdraw: async () => {},
    },
  };
}

export const PAGE_SOURCES = pageSources();

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${name}-${at}`);
}

function tokenNamed(name: string): ShownToken {
  return {
    metadata: { name, uid: 'u', creationTimestamp: AT },
    spec: { scopes: ['session'], description: `what ${name} is for` },
    status: {
      ...{ token: `sgt_abcd1234${'x'.repeat(38)}`, state: 'active', owner: 'acme:alice' },
      expirationTimestamp: AT,
    },
  };
}

function memberNamed(name: string): Member {
  return {
    metadata: { name, namespace: 'shop', creationTimestamp: null },
    spec: { type: 'User', name, role: 'read' },
    status: { owner: false, from: [{ kind: 'RoleBinding', name: `binding-of-${name}`, role: 'read' }] },
  };
}

function teamNamed(name: string, users: number): ShownTeam {
  return {
    metadata: { name, uid: 'u', resourceVersion: '1', creationTimestamp: AT },
    spec: { managers: ['acme:alice'], members: numbered(`${name}-user`, users) },
    status: { group: `stonegate:team:acme:${name}` },
  };
}

function invitationNamed(name: string) {
  return {
    metadata: { name, uid: 'u', creationTimestamp: AT },
    spec: { namespace: 'shop', role: 'read', email: `${name}@acme.example` },
    status: { state: 'open' as const, inviter: 'acme:bob', expirationTimestamp: AT },
  };
}
