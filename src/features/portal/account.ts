/**
 * What the account page shows of a user: the facts of the session, and the tenant, user name and groups that
 * the current configuration derives from them, as in the API's own `selfidentity` response.
 */

import type { IdentitySource } from '../../proxy/identity-source.ts';
import type { AccountProject } from '../../proxy/portal-page.ts';
import { keystoneGroupInWords } from '../../tenancy/keystone-groups.ts';
import type { ProjectNamespace } from '../../tenancy/keystone-v3.ts';
import type { SelfIdentity } from '../explain/stonegate-v1alpha1.ts';
import { selfIdentityOf } from '../self-identity.ts';
import type { Session } from './portal-storage.ts';

export type Account = ReturnType<typeof accountOf>;

/** @throws StatusError if the identity has no tenant or user name in the current configuration */
export function accountOf(
  session: Session,
  {
    identities: { describe },
    namespaceOf,
  }: { readonly identities: Pick<IdentitySource, 'describe'>; readonly namespaceOf: ProjectNamespace },
) {
  const { identity, issuer, projects, expiresAt } = session;
  const { subject } = identity;
  const { status }: SelfIdentity = selfIdentityOf({ identity, ...describe(identity) }, namespaceOf);
  const project = projectOf(status);
  const nameOf = (_kind: string, id: string) => namedIn(session).find((each) => each.id === id)?.name;
  return {
    name: ownName(session),
    /** The domain of a Keystone user. */
    domain: subject.kind === 'keystone' ? subject.userDomain.name : undefined,
    /** Undefined for Keystone. */
    issuer,
    tenant: status.tenant,
    username: status.user.username,
    /** Each has its name in role bindings, and Keystone's names in words if they are known. */
    groups: status.user.groups.map((name) => ({ name, inWords: keystoneGroupInWords(name, nameOf) })),
    project,
    roles: status.roles,
    otherProjects: projects
      .filter(({ id }) => id !== project?.id)
      .map((other): AccountProject => ({ ...other, namespace: namespaceOf(other) })),
    expiresAt,
  };
}

/** The user's name in Keystone or at the issuer. */
export function ownName({ identity: { subject } }: Session): string {
  if (subject.kind === 'keystone') return subject.userName;
  // The portal offers no sign-in for other kinds.
  return subject.kind === 'claim' ? subject.name : '';
}

/** The projects and domains of which the session has Keystone's name. */
function namedIn({ identity: { subject, scope }, projects }: Session) {
  const domains = subject.kind === 'keystone' ? [subject.userDomain, subject.scopeDomain] : [];
  return [...(scope === undefined ? [] : [scope]), ...projects, ...domains];
}

function projectOf({ scope }: SelfIdentity['status']): AccountProject | undefined {
  if (scope?.kind !== 'project' || scope.id === undefined) return undefined;
  return { id: scope.id, name: scope.name ?? scope.id, namespace: scope.namespace };
}
