/**
 * Who somebody is, as their page tells it: the facts of the session, and what the Kubernetes API makes of them now. It
 * is what the API itself would answer them (`selfidentity`), with the names they know themselves by.
 */

import type { SelfIdentity } from '../api/stonegate-v1alpha1.ts';
import { selfIdentityOf } from '../pipeline/answer-self-identity.ts';
import type { IdentitySource } from './ports.ts';
import type { ProjectName, Session } from './session.ts';

export interface Account {
  /** As they know themselves. */
  readonly name: string;
  /** The domain of a Keystone user. */
  readonly domain: string | undefined;
  /** The issuer they signed in with; undefined for Keystone. */
  readonly issuer: string | undefined;
  readonly tenant: string;
  /** As the API server knows them. */
  readonly username: string;
  readonly groups: readonly string[];
  /** What they signed in to. */
  readonly project: ProjectName | undefined;
  /** On that project. */
  readonly roles: readonly string[];
  /** Others they may sign in to. */
  readonly otherProjects: readonly ProjectName[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** @throws StatusError where the identity is nobody here (any more) */
export function accountOf(session: Session, { describe }: Pick<IdentitySource, 'describe'>): Account {
  const { identity, issuer, projects, expiresAt } = session;
  const { subject } = identity;
  const { status } = selfIdentityOf({ identity, ...describe(identity) });
  const project = projectOf(status);
  return {
    name: ownName(session),
    domain: subject.kind === 'keystone' ? subject.userDomain.name : undefined,
    issuer,
    tenant: status.tenant,
    username: status.user.username,
    groups: status.user.groups,
    project,
    roles: status.roles,
    otherProjects: projects.filter(({ id }) => id !== project?.id),
    expiresAt,
  };
}

/** As they know themselves. */
export function ownName({ identity: { subject } }: Session): string {
  switch (subject.kind) {
    case 'keystone':
      return subject.userName;
    case 'claim':
      return subject.name;
    // Nobody signs in as these; the portal has no way to.
    case 'upstream':
      return subject.user.username;
    case 'anonymous':
      return '';
  }
}

function projectOf({ scope }: SelfIdentity['status']): ProjectName | undefined {
  if (scope?.kind !== 'project' || scope.id === undefined) return undefined;
  return { id: scope.id, name: scope.name ?? scope.id };
}
