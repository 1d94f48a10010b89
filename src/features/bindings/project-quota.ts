/**
 * The ResourceQuota in a project's namespace. The feature `quota` decides what it allows; provisioning writes
 * it beside the namespace, restores it, and never deletes it: what runs in the namespace of a project that is
 * gone stays bounded.
 */

import type { KeystoneProject } from '../../identity/keystone/keystone-directory.ts';
import type { ResourceQuota } from '../../kubernetes/kubernetes-object.ts';
import type { Refusal } from '../../kubernetes/reconcile/plan.ts';
import { managedLabels } from './managed-object.ts';

export const PROJECT_QUOTA = 'stonegate-project';

export interface ProjectLimits {
  /** Quantities by the names of ResourceQuota. */
  ofProject(project: { readonly id: string }): Readonly<Record<string, string>>;
  /** Says which limits cannot be put into effect, and why. */
  readonly refusals: readonly Refusal[];
}

/** @throws StatusError if the limits were never read and cannot be read now */
export type ReadProjectLimits = () => Promise<ProjectLimits>;

export function projectQuota(
  project: Pick<KeystoneProject, 'id' | 'name' | 'domainID'>,
  namespace: string,
  limits: ProjectLimits,
): ResourceQuota {
  const owner = { projectID: project.id, domainID: project.domainID };
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: {
      name: PROJECT_QUOTA,
      namespace,
      ...managedLabels(owner, { 'project-name': project.name }),
    },
    spec: { hard: limits.ofProject(project) },
  };
}
