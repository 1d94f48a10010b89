/**
 * The namespace that belongs to a project. Keystone's names are free text and a namespace's is a DNS label: what does
 * not fit is refused in words. Lower-casing or cutting it off would sooner or later give two projects one namespace.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names
 */
import type { BindingsConfiguration } from '../api/config-v1alpha1.ts';
import { namespaceProblem } from '../api/reserved-names.ts';
import { ownValue } from '../lib/own-value.ts';
import type { KeystoneProject } from './ports.ts';

export type NamespaceRules = Pick<BindingsConfiguration, 'namespaceFormat' | 'projects'>;

export type NamespaceName =
  | {
      readonly namespace: string;
      /** An operator wrote it down for this very project. */
      readonly configured: boolean;
    }
  | { readonly refused: string };

const PLACEHOLDER = /%[nid]/g;

/** What the project is called in the cluster, by the configuration alone. */
export function namespaceOf(
  project: Pick<KeystoneProject, 'id' | 'name' | 'domainID'>,
  { namespaceFormat, projects }: NamespaceRules,
): NamespaceName {
  const configured = ownValue(projects, project.id)?.namespace;
  const namespace = configured ?? formatNamespace(namespaceFormat, project);
  const problem = namespaceProblem(namespace);
  return problem === undefined
    ? { namespace, configured: configured !== undefined }
    : { refused: `its namespace would be ${JSON.stringify(namespace)}, which ${problem}` };
}

/** What the format makes of a project, whether it can be a namespace or not. */
export function formatNamespace(
  format: string,
  { id, name, domainID }: Pick<KeystoneProject, 'id' | 'name' | 'domainID'>,
): string {
  const parts: Readonly<Record<string, string>> = { '%n': name, '%i': id, '%d': domainID };
  // In one pass: a project may be called `%i`.
  return format.replace(PLACEHOLDER, (placeholder) => parts[placeholder] ?? '');
}
