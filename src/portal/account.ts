/**
 * Who somebody is, as their page tells it: the facts of the session, and what the Kubernetes API makes of them now.
 */
import type { IdentitySource, ProjectName } from './ports.ts';
import type { Session } from './session.ts';

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
  const { tenant, user } = describe(identity);
  const { subject, scope } = identity;
  const project = currentProject(session);
  return {
    name: ownName(session),
    domain: subject.kind === 'keystone' ? subject.userDomain.name : undefined,
    issuer,
    tenant,
    username: user.username,
    groups: user.groups,
    project,
    roles: scope?.roles ?? [],
    otherProjects: projects.filter(({ id }) => id !== project?.id),
    expiresAt,
  };
}

/** As they know themselves. */
export function ownName({ identity: { subject } }: Session): string {
  return subject.kind === 'keystone' ? subject.userName : subject.name;
}

function currentProject({ identity: { scope } }: Session): ProjectName | undefined {
  if (scope?.kind !== 'project' || scope.id === undefined) return undefined;
  return { id: scope.id, name: scope.name ?? scope.id };
}
