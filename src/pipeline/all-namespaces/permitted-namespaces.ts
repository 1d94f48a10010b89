/**
 * The namespaces that an open watch of all namespaces may have now, for the groups that its user has now.
 */
import {
  type AllNamespacesQuestion,
  concernsOf,
  isPermittedIn,
  permittedNamespaces,
} from '../../access/all-namespaces/all-namespaces.ts';
import type { WatchConcerns } from '../../access/all-namespaces/watch-decisions.ts';
import type { AccessIndex } from '../../access/ports.ts';
import { fingerprintOfSubject } from '../../access/subject-changes.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { AccessSubjects } from '../rbac/access-subject.ts';
import type { Outgoing } from '../request-context.ts';

/** The namespaces in which the user may watch now. */
export interface PermittedNamespaces {
  /** Whether it is one of them: one decision. */
  has(namespace: string): boolean;
  /** The changes that may concern them. */
  readonly concerns: WatchConcerns;
  /** Whether the index still counts for the user: a new request would be merged too. */
  isInForce(): boolean;
  /** The namespaces now; undefined if the user may watch the whole cluster now. */
  now(): ReadonlySet<string> | undefined;
  /**
   * Resolves the user's roles again, if they are looked up; `now` counts with them from then on. While
   * Keystone cannot be asked, the user is the same; after another error it rejects, and the watch ends.
   */
  isSameUser(): Promise<boolean>;
}

interface PermittedOptions {
  readonly access: Pick<AccessIndex, 'index' | 'state'>;
  readonly subjects: Pick<AccessSubjects, 'subjectOf'>;
}

export function permittedNow(
  outgoing: Outgoing,
  opened: SubjectByNamespace,
  question: AllNamespacesQuestion,
  { access, subjects }: PermittedOptions,
): PermittedNamespaces {
  let subject = opened;
  return {
    isInForce: () => access.state(subject.cluster.tenant) === 'current',
    concerns: concernsOf(opened, question),
    has: (namespace) => isPermittedIn(access.index, subject, question, namespace),
    now() {
      const names = permittedNamespaces(access.index, subject, question);
      return names && new Set(names);
    },
    async isSameUser() {
      if (outgoing.proven.assignmentsOf === undefined) return true;
      const current = await subjects.subjectOf(outgoing).catch(unlessUnavailable(subject));
      const isSame = fingerprintOfSubject(current) === fingerprintOfSubject(subject);
      subject = current;
      return isSame;
    },
  };
}

/** If Keystone cannot be asked, the user counts as unchanged; after any other error the watch ends. */
function unlessUnavailable(subject: SubjectByNamespace): (error: unknown) => SubjectByNamespace {
  return (error) => {
    if (error instanceof StatusError && error.code === 'KeystoneUnavailable') return subject;
    throw error;
  };
}
