/**
 * A grant as the object that gives it.
 */

import { BASIC_USER_ROLE } from '../api/cluster-roles.ts';
import type { RoleTarget } from '../api/config-v1alpha1.ts';
import type { Binding, RoleRef } from '../api/kubernetes-object.ts';
import type { Grant } from './grants.ts';
import type { KeystoneDomain, KeystoneProject } from './keystone-directory.ts';
import { bindingMeta } from './managed-object.ts';

const GROUP = 'rbac.authorization.k8s.io';

/** A binding and whom it is for, in words. */
export interface BindingWish {
  readonly object: Binding;
  readonly reason: string;
}

interface Place {
  readonly domain: Pick<KeystoneDomain, 'id' | 'name'>;
  /** In whose namespace it is. */
  readonly project?: KeystoneProject;
}

/** @returns a RoleBinding lacks its namespace */
export function bindingOf(kind: Binding['kind'], grant: Grant, { domain, project }: Place): BindingWish {
  const { purpose, place, roleName, target, subject, userName } = grant;
  const person = userName === undefined ? '' : ` of the user ${userName}`;
  const where =
    place.kind === 'project' && project !== undefined
      ? titleOf('project', project)
      : titleOf('domain', domain);
  return {
    object: {
      apiVersion: `${GROUP}/v1`,
      kind,
      metadata: bindingMeta(
        purpose,
        { domainID: domain.id, ...(project && { projectID: project.id }) },
        {
          role: roleName,
          'domain-name': domain.name,
          ...(project && { 'project-name': project.name }),
          ...(userName !== undefined && { 'user-name': userName }),
        },
      ),
      roleRef: roleRefOf(target),
      subjects: [subject],
    },
    reason: `role ${roleName}${person} on ${where}`,
  };
}

/** Lets everybody of a tenant ask what they may do. */
export function basicUserBinding(domainID: string): BindingWish {
  return {
    object: {
      apiVersion: `${GROUP}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: bindingMeta('basic-user', { domainID }, {}),
      roleRef: roleRefOf({ clusterRole: BASIC_USER_ROLE }),
      subjects: [{ apiGroup: GROUP, kind: 'Group', name: 'system:authenticated' }],
    },
    reason: 'people may ask what they may do',
  };
}

function roleRefOf(target: RoleTarget): RoleRef {
  return 'clusterRole' in target
    ? { apiGroup: GROUP, kind: 'ClusterRole', name: target.clusterRole }
    : { apiGroup: GROUP, kind: 'Role', name: target.role };
}

/** `project web (3f…)`. */
export function titleOf(kind: 'project' | 'domain', { name, id }: { name: string; id: string }): string {
  return `${kind} ${name} (${id})`;
}
