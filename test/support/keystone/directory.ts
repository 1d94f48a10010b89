/**
 * The data of the stand-in Keystone: domains, projects, users, roles, role assignments, and delegations. A
 * test may change the returned objects: `project.enabled = false` is what an administrator does.
 */
import { randomBytes } from 'node:crypto';

export interface Domain {
  readonly id: string;
  name: string;
  enabled: boolean;
}

export interface Project {
  readonly id: string;
  name: string;
  readonly domain: Domain;
  enabled: boolean;
  deleted: boolean;
}

export interface User {
  readonly id: string;
  name: string;
  readonly domain: Domain;
  password: string;
  enabled: boolean;
  deleted: boolean;
  /** Names of the user's groups; these groups give no roles. */
  groups: string[];
  /** Ids of groups that federation has stored in the token. */
  federatedGroups: readonly string[];
}

export interface Role {
  readonly id: string;
  name: string;
}

/** The target of a role assignment, and the scope of a token. */
export type Target = { readonly project: Project } | { readonly domain: Domain } | { readonly system: true };

export interface ApplicationCredential {
  readonly id: string;
  readonly name: string;
  readonly secret: string;
  readonly user: User;
  readonly project: Project;
  readonly roles: readonly Role[];
  readonly accessRules?: readonly unknown[];
  deleted: boolean;
}

export interface Trust {
  readonly id: string;
  readonly trustor: User;
  readonly trustee: User;
  readonly project: Project;
  readonly roles: readonly Role[];
  readonly impersonation: boolean;
  deleted: boolean;
}

/** A limit of the service `kubernetes`, without a region. */
export interface Limit {
  readonly resource: string;
  readonly limit: number;
  /** Absent for a registered limit. */
  readonly of?: { readonly project: Project } | { readonly domain: Domain };
}

interface Assignment {
  readonly user: User;
  readonly role: Role;
  readonly target: Target;
}

const newID = () => randomBytes(16).toString('hex');

export type Directory = ReturnType<typeof createDirectory>;

export function createDirectory() {
  const domains: Domain[] = [{ id: 'default', name: 'Default', enabled: true }];
  const projects: Project[] = [];
  const users: User[] = [];
  const roles: Role[] = [];
  const applicationCredentials: ApplicationCredential[] = [];
  const trusts: Trust[] = [];
  const limits: Limit[] = [];
  let assignments: Assignment[] = [];

  const self = {
    domains,
    projects,
    users,
    roles,
    applicationCredentials,
    trusts,
    limits,
    get assignments(): readonly Assignment[] {
      return assignments;
    },
    /** The domain of this name, which is created if it does not exist. */
    domain(name: string): Domain {
      const found = domains.find((each) => each.name === name);
      if (found) return found;
      const domain = { id: newID(), name, enabled: true };
      domains.push(domain);
      return domain;
    },
    project(domainName: string, name: string): Project {
      const domain = self.domain(domainName);
      const found = projects.find((each) => each.domain === domain && each.name === name);
      if (found) return found;
      const project = { id: newID(), name, domain, enabled: true, deleted: false };
      projects.push(project);
      return project;
    },
    /** The user of this name, who is created with the password `NAME-pass` if there is none. */
    user(domainName: string, name: string): User {
      const domain = self.domain(domainName);
      const found = users.find((each) => each.domain === domain && each.name === name);
      if (found) return found;
      const user: User = {
        id: newID(),
        name,
        domain,
        password: `${name}-pass`,
        enabled: true,
        deleted: false,
        groups: [],
        federatedGroups: [],
      };
      users.push(user);
      return user;
    },
    role(name: string): Role {
      const found = roles.find((each) => each.name === name);
      if (found) return found;
      const role = { id: newID(), name };
      roles.push(role);
      return role;
    },
    assign(user: User, roleName: string, target: Target) {
      assignments.push({ user, role: self.role(roleName), target });
    },
    unassign(user: User, roleName: string, target: Target) {
      assignments = assignments.filter(
        (each) => each.user !== user || each.role.name !== roleName || !sameTarget(each.target, target),
      );
    },
    rolesOf(user: User, target: Target): Role[] {
      return assignments
        .filter((each) => each.user === user && sameTarget(each.target, target))
        .map((each) => each.role);
    },
    applicationCredential(
      user: User,
      project: Project,
      options: { readonly roles?: readonly string[]; readonly accessRules?: readonly unknown[] } = {},
    ): ApplicationCredential {
      const held = self.rolesOf(user, { project });
      const credential: ApplicationCredential = {
        id: newID(),
        name: `${user.name}-ci`,
        secret: randomBytes(16).toString('base64url'),
        user,
        project,
        roles: options.roles?.map((name) => self.role(name)) ?? held,
        ...(options.accessRules && { accessRules: options.accessRules }),
        deleted: false,
      };
      applicationCredentials.push(credential);
      return credential;
    },
    trust(
      trustor: User,
      trustee: User,
      project: Project,
      options: { readonly roles: readonly string[]; readonly impersonation: boolean },
    ): Trust {
      const trust: Trust = {
        id: newID(),
        trustor,
        trustee,
        project,
        roles: options.roles.map((name) => self.role(name)),
        impersonation: options.impersonation,
        deleted: false,
      };
      trusts.push(trust);
      return trust;
    },
  };
  return self;
}

function sameTarget(one: Target, other: Target) {
  if ('project' in one) return 'project' in other && one.project === other.project;
  if ('domain' in one) return 'domain' in other && one.domain === other.domain;
  return 'system' in other;
}
