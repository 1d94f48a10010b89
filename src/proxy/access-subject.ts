/**
 * The user of a request in each namespace. If roles are looked up for each request, the groups depend on the
 * namespace that a request concerns; else the user is the same everywhere.
 */
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import { type RBACUser, type SubjectByNamespace, uniformSubject } from '../rbac/attributes.ts';
import type { Identity } from '../tenancy/identity.ts';
import { actingTenant } from './acting-tenant.ts';
import { withoutWithheld } from './impersonation/impersonate.ts';
import type { Outgoing } from './request-context.ts';
import { impersonate, roleScopeOf, type Stages } from './stages.ts';

/**
 * Returns the request as the user whom a request in the namespace would have, with the headers for that user.
 *
 * @param namespace empty for the cluster or the tenant as a whole
 * @throws StatusError KeystoneUnavailable, IdentityUnusable, and as `impersonate` does
 */
export type RequestAs = (outgoing: Outgoing, namespace: string) => Promise<Outgoing>;

export interface AccessSubjects {
  readonly requestAs: RequestAs;
  /** @throws StatusError KeystoneUnavailable, IdentityUnusable */
  subjectOf(asked: RequestUser): Promise<SubjectByNamespace>;
}

/** The user of a request, or the user of another credential as if it had sent the request. */
export type RequestUser = Pick<Outgoing, 'proven' | 'impersonator' | 'crossing' | 'info' | 'tenant' | 'user'>;

export type AccessSubjectStages = Pick<Stages, 'mode' | 'roles' | 'maxHeaderBytes' | 'upstreamRights'>;

interface Lookup {
  identityIn(namespace: string): Promise<Identity>;
  /** The namespaces in which a role on a project counts. */
  projectNamespaces(): Promise<readonly string[]>;
}

/** No namespace has this name: it stands for all in which no role on a project counts. */
const OTHER = '*';

export function createAccessSubjects(stages: AccessSubjectStages): AccessSubjects {
  const { mode, roles, upstreamRights } = stages;

  function rbacUser(user: UserInfo, asked: RequestUser): RBACUser {
    const { username, groups } = user;
    const tenant = mode.reviewTenant(actingTenant(asked)) ?? '';
    return { tenant, username, groups, home: asked.tenant, scope: asked.proven.accessToken };
  }

  /** @returns undefined if the request has the same user in every namespace */
  function lookupFor({ proven, impersonator, crossing, info, tenant }: RequestUser): Lookup | undefined {
    // The roles of an impersonated user are unknown: only rights that are given to the name count.
    // A guest has no roles of their own here.
    if (impersonator !== undefined || crossing !== undefined) return undefined;
    if (roles === undefined || proven.assignmentsOf === undefined) return undefined;
    if (!info.isResourceRequest) return undefined;
    const scopeIn = (namespace: string) => roleScopeOf({ ...info, namespace }, proven, tenant, mode);
    return {
      identityIn: (namespace) => roles.inScope(proven, scopeIn(namespace)),
      projectNamespaces: () => roles.projectNamespaces(proven, scopeIn('').domainID),
    };
  }

  return {
    async requestAs(outgoing, namespace) {
      const lookup = lookupFor(outgoing);
      if (lookup === undefined) return outgoing;
      const identity = await lookup.identityIn(namespace);
      if (identity === outgoing.identity) return outgoing;
      const named = mode.userOf(identity, outgoing.tenant);
      const user = withoutWithheld(named, upstreamRights.withheld);
      // A copy: the request itself is recorded as its user's.
      return impersonate({ ...outgoing, identity, named, user }, stages);
    },
    async subjectOf(asked) {
      const lookup = lookupFor(asked);
      if (lookup === undefined) return uniformSubject(rbacUser(asked.user, asked));
      const userIn = async (namespace: string) =>
        rbacUser(mode.userOf(await lookup.identityIn(namespace), asked.tenant), asked);
      const names = await lookup.projectNamespaces();
      const users = await Promise.all(
        names.map(async (namespace) => [namespace, await userIn(namespace)] as const),
      );
      return { cluster: await userIn(''), other: await userIn(OTHER), namespaces: new Map(users) };
    },
  };
}
