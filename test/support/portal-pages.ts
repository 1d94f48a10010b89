/**
 * The features' pages of the portal, and sources for all of them: as many rows as a test wants, and changes
 * that always succeed.
 */
import { type AccessView, accessPage } from '../../src/features/access-rules/access-page.ts';
import { inviteForms } from '../../src/features/invitations/invitation-forms.ts';
import { invitationPage } from '../../src/features/invitations/invitation-page.ts';
import type { Invitations } from '../../src/features/invitations/invitations.ts';
import type { Member } from '../../src/features/members/member-v1alpha1.ts';
import { type MemberSource, membersPage } from '../../src/features/members/members-page.ts';
import type { ShownQuota } from '../../src/features/quota/own-quota-v1alpha1.ts';
import { quotaPage } from '../../src/features/quota/quota-page.ts';
import type { ShownTeam } from '../../src/features/teams/team-v1alpha1.ts';
import { type TeamSource, teamsPage } from '../../src/features/teams/teams-page.ts';
import type { ShownToken } from '../../src/features/tokens/access-token-v1alpha1.ts';
import { type NamespacesOf, type TokenSource, tokensPage } from '../../src/features/tokens/tokens-page.ts';
import type { PortalPage } from '../../src/proxy/portal-page.ts';
import type { Identity } from '../../src/tenancy/identity.ts';
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

/** Where pages have their data from; without a source there is no page. */
export interface PageSources {
  readonly access: { accessOf(identity: Identity, filter: string): Promise<AccessView> };
  readonly namespacesOf: NamespacesOf;
  readonly quota: { quotaOf(identity: Identity): Promise<ShownQuota | undefined> };
  readonly tokens: TokenSource;
  readonly members: MemberSource;
  readonly teams: TeamSource;
  readonly invitations: Pick<Invitations, keyof Invitations>;
}

export function pagesOf(sources: Partial<PageSources>): PortalPage[] {
  const { access, namespacesOf, quota, tokens, members, teams, invitations } = sources;
  const invite = invitations && inviteForms(invitations);
  return [
    tokens && tokensPage(tokens, namespacesOf),
    access && accessPage(access.accessOf),
    quota && quotaPage(quota.quotaOf),
    invite && members && membersPage(members, invite),
    invite && teams && teamsPage(teams, invite),
    invitations && invitationPage(invitations),
  ].filter((page) => page !== undefined);
}

export function pageSources(rows: PageRows = {}): PageSources {
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

function numbered(name: string, count: number) {
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
