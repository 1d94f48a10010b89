/**
 * Synchronizes a project's namespace and one user's RoleBindings with a token review, as k8s-keystone-auth
 * does. It runs after the response, one at a time for each project, only with a user's newest review;
 * failures are logged and retried at the next review. Only a namespace with this project's label is used: a
 * project's name alone could otherwise reach any namespace.
 */

import { reasonOf, StatusError } from '../../errors/status-error.ts';
import { type Binding, KINDS, type Place, type StoredObject } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { applyPlan } from '../../kubernetes/reconcile/apply.ts';
import { compareOwned } from '../../kubernetes/reconcile/drift.ts';
import { type Desired, type Existing, makePlan } from '../../kubernetes/reconcile/plan.ts';
import { MAX_LABEL_LENGTH, namespaceProblem } from '../../kubernetes/reserved-names.ts';
import type { Logger } from '../../lib/logger.ts';
import type { KeystoneSync, ProjectMember } from './keystone-sync.ts';
import { isManagedFor, managedLabels, type StoredBinding, storedBinding } from './managed-object.ts';
import { formatNamespace } from './namespace-name.ts';

const CONCURRENT = 4;
const MAX_WAITING = 1_000;

export interface ProjectSynchronizerOptions {
  /** Charged to the member's tenant, if it is known. */
  readonly objectsOf: (member: ProjectMember) => Objects;
  readonly rules: () => KeystoneSync | undefined;
  /** The place of a member's objects; with a tenant if the API server has tenants. */
  readonly placeOf: (member: ProjectMember) => Place;
  readonly logger: Logger;
}

export interface ProjectSynchronizer {
  /** Never throws. */
  request(member: ProjectMember): void;
  /** Resolves when nothing runs and nothing is queued. */
  settled(): Promise<void>;
  /** Starts nothing further, cancels what runs, and waits for its end. */
  close(): Promise<void>;
}

export function createProjectSynchronizer({
  objectsOf,
  rules,
  placeOf,
  logger,
}: ProjectSynchronizerOptions): ProjectSynchronizer {
  const waiting = new Map<string, ProjectMember>();
  /** The run of each project. */
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
      await synchronize(member, fields);
    } catch (error) {
      const why = error instanceof StatusError ? { reason: reasonOf(error) } : { error };
      if (!signal.aborted) logger.warn({ ...fields, ...why }, 'webhook: a project could not be synchronised');
    }
    running.delete(member.project.id);
    if (!signal.aborted) begin();
  }

  async function synchronize(member: ProjectMember, fields: object): Promise<void> {
    const sync = rules();
    if (sync === undefined || isIgnored(member, sync)) return;
    const place = placeOf(member);
    const name = memberNamespace(member, sync);
    if ('refused' in name) {
      logger.warn({ ...fields, reason: name.refused }, 'webhook: the project cannot have this namespace');
      return;
    }
    const { namespace } = name;
    const objects = objectsOf(member);
    const found = await namespaceOf(namespace, member, sync, place, objects);
    if (found === undefined) {
      logger.warn(
        { ...fields, namespace },
        'webhook: the namespace does not exist, or does not have the label of the project',
      );
      return;
    }
    if (sync.roleAssignments) await bind(member, namespace, place, objects, fields);
  }

  /** @returns undefined if the project has no namespace of its own */
  async function namespaceOf(
    name: string,
    { project }: ProjectMember,
    { projects }: KeystoneSync,
    place: Place,
    objects: Objects,
  ): Promise<StoredObject | undefined> {
    const look = () => objects.get(KINDS.Namespace, place, name, signal);
    let found = await look();
    if (found === undefined && projects) {
      const labels = managedLabels({ projectID: project.id }, { 'project-name': project.name });
      const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...labels } };
      await objects.create(KINDS.Namespace, place, object, signal);
      found = await look();
    }
    const usable =
      found !== undefined &&
      isManagedFor(found, { projectID: project.id }) &&
      found.metadata.deletionTimestamp === undefined;
    return usable ? found : undefined;
  }

  async function bind(
    member: ProjectMember,
    namespace: string,
    place: Place,
    objects: Objects,
    fields: object,
  ): Promise<void> {
    const within = { ...place, namespace };
    const all = await objects.list(KINDS.RoleBinding, within, '', signal, storedBinding);
    const { desired, existing, refused } = memberBindings(member, within, all);
    if (refused.length > 0) {
      logger.warn({ ...fields, roles: refused }, 'webhook: these roles cannot be bound');
    }
    const plan = await makePlan({ desired, existing });
    const { done, failures } = await applyPlan(plan, { objects, signal });
    if (signal.aborted) return;
    for (const { change, reason } of failures)
      logger.warn(
        { ...fields, namespace, role: change.reason, reason },
        'webhook: a role could not be synchronised',
      );
    const count = done.length;
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

function isIgnored({ project }: ProjectMember, sync: KeystoneSync): boolean {
  if (!sync.projects && !sync.roleAssignments) return true;
  return sync.ignoredProjects.has(project.id) || sync.ignoredProjectNames.has(project.name);
}

const GROUP = 'rbac.authorization.k8s.io';
/** A binding's name is the user id up to the first `_`, then the role. */
const USER_ID = /^[A-Za-z0-9.-]+$/;
/** Valid as an object's name, and not one of the cluster's own roles. */
const ROLE = /^(?!system:|\.{1,2}$)[^/%\p{Cc}]+$/u;

interface MemberBindings {
  readonly desired: readonly Desired[];
  readonly existing: readonly Existing[];
  /** Roles whose names cannot be used. */
  readonly refused: readonly string[];
}

/** @returns the namespace, or a reason that continues "the namespace …" */
function memberNamespace(
  { project, userDomainID }: ProjectMember,
  { namespaceFormat }: KeystoneSync,
): { readonly namespace: string } | { readonly refused: string } {
  const formatted = formatNamespace(namespaceFormat, { ...project, domainID: userDomainID });
  const namespace = formatted.length > MAX_LABEL_LENGTH ? project.id : formatted;
  const problem = namespaceProblem(namespace);
  return problem === undefined ? { namespace } : { refused: `${JSON.stringify(namespace)} ${problem}` };
}

/** @param all every RoleBinding of the namespace */
function memberBindings(
  { userID, username, roles }: ProjectMember,
  place: Place,
  all: readonly StoredBinding[],
): MemberBindings {
  if (!USER_ID.test(userID)) return { desired: [], existing: [], refused: roles };
  const kind = KINDS.RoleBinding;
  const { namespace = '' } = place;
  const isOwned = (object: StoredObject) => isOf(userID, storedBinding(object));
  const usable = roles.filter((role) => ROLE.test(role));
  return {
    desired: usable.map((role) => {
      const object: Binding = {
        apiVersion: `${GROUP}/v1`,
        kind: 'RoleBinding',
        metadata: { name: `${userID}_${role}`, namespace },
        roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: role },
        subjects: [{ apiGroup: GROUP, kind: 'User', name: username }],
      };
      return {
        kind,
        place,
        object,
        reason: role,
        compare: (existing) => compareOwned(object, existing, isOwned),
      };
    }),
    existing: all.map((object) => ({
      kind,
      place,
      object,
      deletion:
        isOwned(object) && !roles.includes(object.roleRef.name)
          ? { reason: object.roleRef.name, isOwned }
          : undefined,
    })),
    refused: roles.filter((role) => !usable.includes(role)),
  };
}

/**
 * Whether a synchronization created it for this user: `<user id>_<role>`, bound to the ClusterRole of that
 * name. All parts must match; other bindings are left as they are.
 */
function isOf(userID: string, { metadata, roleRef, subjects }: StoredBinding): boolean {
  const [subject, ...others] = subjects;
  return (
    metadata.name === `${userID}_${roleRef.name}` &&
    roleRef.kind === 'ClusterRole' &&
    subject?.kind === 'User' &&
    others.length === 0
  );
}

export type ProjectSynchronizerOf = typeof createProjectSynchronizer;
