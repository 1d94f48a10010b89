/**
 * Computes a project's namespace name. Keystone's names are free text; a name that is not a DNS label is
 * refused, since changing its case or length could give two projects one namespace.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names
 */

import type { KeystoneProject } from '../../identity/keystone/keystone-directory.ts';
import { namespaceProblem } from '../../kubernetes/reserved-names.ts';
import { ownValue } from '../../lib/json-object.ts';
import type { ProjectNamespace } from '../../tenancy/keystone-v3.ts';
import type { BindingsConfiguration } from './bindings-configuration.ts';

export type NamespaceRules = Pick<BindingsConfiguration, 'namespaceFormat' | 'projects'>;

export type NamespaceName =
  | {
      readonly namespace: string;
      /** Whether the operator configured it for this project. */
      readonly configured: boolean;
    }
  | { readonly refused: string };

const PLACEHOLDER = /%[nid]/g;

/** The project's namespace, from the configuration alone. */
export function namespaceOf(
  project: Pick<KeystoneProject, 'id' | 'name' | 'domainID'>,
  { namespaceFormat, projects }: NamespaceRules,
): NamespaceName {
  const configured = ownValue(projects, project.id)?.namespace;
  const namespace = configured ?? formatNamespace(namespaceFormat, project);
  const problem = namespaceProblem(namespace);
  return problem === undefined
    ? { namespace, configured: configured !== undefined }
    : {
        refused: `its namespace would be ${JSON.stringify(namespace)}, which ${problem}: set another one in bindings.projects`,
      };
}

/** @returns finds the namespace of any project; undefined if its name cannot be one */
export function createNamespaceOf(rules: NamespaceRules) {
  return (project: Parameters<typeof namespaceOf>[0]): string | undefined => {
    const name = namespaceOf(project, rules);
    return 'namespace' in name ? name.namespace : undefined;
  };
}

export function createProjectNamespace(rules: BindingsConfiguration): ProjectNamespace {
  return ({ id, name, domainID }) => {
    const exists = rules.provision !== 'none' || ownValue(rules.projects, id)?.namespace !== undefined;
    const known = domainID !== undefined || !rules.namespaceFormat.includes('%d');
    if (!exists || !known) return undefined;
    const wanted = namespaceOf({ id, name, domainID: domainID ?? '' }, rules);
    return 'namespace' in wanted ? wanted.namespace : undefined;
  };
}

/** Expands the format, whether or not the result is a valid name. */
export function formatNamespace(
  format: string,
  { id, name, domainID }: Pick<KeystoneProject, 'id' | 'name' | 'domainID'>,
): string {
  const parts: Readonly<Record<string, string>> = { '%n': name, '%i': id, '%d': domainID };
  // All placeholders are replaced in one pass, since a project's name may contain `%i`.
  return format.replace(PLACEHOLDER, (placeholder) => parts[placeholder] ?? '');
}
