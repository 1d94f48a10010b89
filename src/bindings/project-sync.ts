/**
 * Brings a project's namespace and a user's RoleBindings in it to what a review of their token has just shown. Beside the
 * answer, never before it; one at a time for each project, the newest of a user's reviews alone. What could not be made
 * is logged, and tried again at the next review.
 *
 * Nothing is bound in a namespace that is not marked as this very project's: whoever may name a project in Keystone could
 * else reach into any.
 */
import type { KeystoneSync, ProjectMember } from '../api/keystone-auth.ts';
import type { Binding, Namespace, RBACSubject } from '../api/kubernetes-object.ts';
import { MAX_LABEL_LENGTH, namespaceProblem } from '../api/reserved-names.ts';
import { reasonOf, StatusError } from '../errors/status-error.ts';
import type { Logger } from '../lib/logger.ts';
import { isManagedFor, managedLabels } from './managed-object.ts';
import { formatNamespace } from './namespace-name.ts';
import type { ClusterObjects, Place } from './ports.ts';

const CONCURRENT = 4;
const MAX_WAITING = 1_000;

export interface ProjectSynchronizerOptions {
  readonly objects: ClusterObjects;
  readonly rules: () => KeystoneSync | undefined;
  /** Where a member's objects are; the tenant where the API server knows some. */
  readonly placeOf: (member: ProjectMember) => Place;
  readonly logger: Logger;
}

export interface ProjectSynchronizer {
  /** Never throws. */
  request(member: ProjectMember): void;
  /** Resolves when nothing is under way and nothing waits. */
  settled(): Promise<void>;
  /** Begins nothing any more, breaks off what is under way, and waits for its end. */
  close(): Promise<void>;
}

export function createProjectSynchronizer({
  objects,
  rules,
  placeOf,
  logger,
}: ProjectSynchronizerOptions): ProjectSynchronizer {
  const waiting = new Map<string, ProjectMember>();
  /** By project. */
  const running = new Map<string, Promise<void>>();
  const closed = new AbortController();
  const { signal } = closed;

  function begin(): void {
    for (const [key, member] of waiting) {
      if (running.size >= CONCURRENT) return;
      const { id } = member.project;
      if (running.has(id)) continue;
      waiting.delete(key);
      running.set(id, run(member));
    }
  }

  async function run(member: ProjectMember): Promise<void> {
    const fields = { project: member.project.id, user: member.userID };
    try {
      await bring(member, fields);
    } catch (error) {
      const why = error instanceof StatusError ? { reason: reasonOf(error) } : { error };
      if (!signal.aborted) logger.warn({ ...fields, ...why }, 'webhook: a project could not be synchronised');
    }
    running.delete(member.project.id);
    if (!signal.aborted) begin();
  }

  async function bring(member: ProjectMember, fields: object): Promise<void> {
    const sync = rules();
    if (sync === undefined || isIgnored(member, sync)) return;
    const place = placeOf(member);
    const name = memberNamespace(member, sync);
    if ('refused' in name) {
      logger.warn({ ...fields, reason: name.refused }, 'webhook: the project can have no such namespace');
      return;
    }
    const { namespace } = name;
    const found = await namespaceOf(namespace, member, sync, place);
    if (found === undefined) {
      logger.warn(
        { ...fields, namespace },
        'webhook: the namespace is not there, or not marked as the project’s',
      );
      return;
    }
    if (sync.roleAssignments) await bind(member, namespace, place, fields);
  }

  /** @returns undefined where the project has no namespace of its own */
  async function namespaceOf(
    name: string,
    { project }: ProjectMember,
    { projects }: KeystoneSync,
    place: Place,
  ): Promise<Namespace | undefined> {
    const look = async () => {
      const object = await objects.get({ ...place, kind: 'Namespace', name }, signal);
      return object?.kind === 'Namespace' ? object : undefined;
    };
    let found = await look();
    if (found === undefined && projects) {
      const marks = managedLabels({ projectID: project.id }, { 'project-name': project.name });
      const metadata = { name, ...marks };
      await objects.create({ apiVersion: 'v1', kind: 'Namespace', metadata }, place, signal);
      found = await look();
    }
    const usable =
      found !== undefined &&
      isManagedFor(found, { projectID: project.id }) &&
      found.metadata.deletionTimestamp === undefined;
    return usable ? found : undefined;
  }

  async function bind(member: ProjectMember, namespace: string, place: Place, fields: object): Promise<void> {
    const within = { ...place, namespace };
    const existing = await objects.list('RoleBinding', within, '', signal);
    const { missing, changed, obsolete, refused } = memberBindings(member, namespace, existing);
    if (refused.length > 0) {
      logger.warn({ ...fields, roles: refused }, 'webhook: these roles can be no rolebindings');
    }
    // What is withdrawn goes first.
    const writes = [
      ...obsolete.map((binding) => ({ binding, write: () => objects.delete(binding, within, signal) })),
      ...changed.map((binding) => ({ binding, write: () => objects.update(binding, within, signal) })),
      ...missing.map((binding) => ({ binding, write: () => objects.create(binding, within, signal) })),
    ];
    let count = 0;
    for (const { binding, write } of writes) {
      const failure = await refusalOf(write);
      if (signal.aborted) return;
      if (failure === undefined) count += 1;
      else {
        const role = binding.roleRef.name;
        logger.warn(
          { ...fields, namespace, role, reason: failure },
          'webhook: a role could not be synchronised',
        );
      }
    }
    if (count > 0) logger.info({ ...fields, namespace, bindings: count }, 'webhook: synchronised a project');
  }

  async function settled(): Promise<void> {
    while (running.size > 0) await Promise.all(running.values());
  }

  return {
    settled,
    request(member) {
      const key = JSON.stringify([member.project.id, member.userID]);
      if (signal.aborted) return;
      if (waiting.size >= MAX_WAITING && !waiting.has(key)) {
        logger.warn({ waiting: waiting.size }, 'webhook: too many projects wait to be synchronised');
        return;
      }
      waiting.set(key, member);
      begin();
    },
    async close() {
      closed.abort();
      waiting.clear();
      await settled();
    },
  };
}

/** One role's refusal is not another's: who may not give the rights of one may give those of the next. */
async function refusalOf(write: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await write();
    return undefined;
  } catch (error) {
    if (error instanceof StatusError) return reasonOf(error);
    throw error;
  }
}

function isIgnored({ project }: ProjectMember, sync: KeystoneSync): boolean {
  if (!sync.projects && !sync.roleAssignments) return true;
  return sync.ignoredProjects.has(project.id) || sync.ignoredProjectNames.has(project.name);
}

/*
 * What a user's roles on a project are as RoleBindings, as k8s-keystone-auth writes them: `<user id>_<role>`, bound to
 * the ClusterRole of the role's name. A binding counts as such only where all of it fits together; everybody else's is
 * left alone, whatever it is called.
 
 */

const GROUP = 'rbac.authorization.k8s.io';
/** Up to the first `_` of a binding's name it is the user. */
const USER_ID = /^[A-Za-z0-9.-]+$/;
/** What can be an object's name, and is none of the cluster's own roles. */
const ROLE = /^(?!system:|\.{1,2}$)[^/%\p{Cc}]+$/u;

export interface MemberBindings {
  readonly missing: readonly Binding[];
  /** As they shall be: somebody else was in them. */
  readonly changed: readonly Binding[];
  /** As they are. */
  readonly obsolete: readonly Binding[];
  /** Roles that can be no binding. */
  readonly refused: readonly string[];
}

/** @returns why it can be none, continuing "the namespace …" */
function memberNamespace(
  { project, userDomainID }: ProjectMember,
  { namespaceFormat }: KeystoneSync,
): { readonly namespace: string } | { readonly refused: string } {
  const formatted = formatNamespace(namespaceFormat, { ...project, domainID: userDomainID });
  const namespace = formatted.length > MAX_LABEL_LENGTH ? project.id : formatted;
  const problem = namespaceProblem(namespace);
  return problem === undefined ? { namespace } : { refused: `${JSON.stringify(namespace)} ${problem}` };
}

/** @param existing every RoleBinding of the namespace */
function memberBindings(
  { userID, username, roles }: ProjectMember,
  namespace: string,
  existing: readonly Binding[],
): MemberBindings {
  if (!USER_ID.test(userID)) return { missing: [], changed: [], obsolete: [], refused: roles };
  const usable = roles.filter((role) => ROLE.test(role));
  const subjects: RBACSubject[] = [{ apiGroup: GROUP, kind: 'User', name: username }];
  const wished = usable.map(
    (role): Binding => ({
      apiVersion: `${GROUP}/v1`,
      kind: 'RoleBinding',
      metadata: { name: `${userID}_${role}`, namespace },
      roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: role },
      subjects,
    }),
  );
  const own = existing.filter((binding) => isOf(userID, binding));
  const found = new Map(own.map((binding) => [binding.metadata.name, binding]));
  return {
    missing: wished.filter(
      ({ metadata }) => !existing.some((other) => other.metadata.name === metadata.name),
    ),
    changed: wished.flatMap(({ metadata }) => {
      const present = found.get(metadata.name);
      return present && present.subjects[0]?.name !== username ? [{ ...present, subjects }] : [];
    }),
    obsolete: own.filter(({ roleRef }) => !roles.includes(roleRef.name)),
    refused: roles.filter((role) => !usable.includes(role)),
  };
}

/** Whether such a sync made it for this user. */
function isOf(userID: string, { metadata, roleRef, subjects }: Binding): boolean {
  const [subject, ...others] = subjects;
  return (
    metadata.name === `${userID}_${roleRef.name}` &&
    roleRef.kind === 'ClusterRole' &&
    subject?.kind === 'User' &&
    others.length === 0
  );
}
