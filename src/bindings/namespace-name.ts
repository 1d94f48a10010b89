/**
 * The namespace that belongs to a project. Keystone's names are free text and a namespace's is a DNS label: what does
 * not fit is refused in words. Lower-casing or cutting it off would sooner or later give two projects one namespace.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names
 */
import type { BindingsConfiguration } from '../api/config-bindings-v1alpha1.ts';
import { namespaceProblem } from '../api/namespace-label.ts';
import { ownValue } from '../lib/own-value.ts';
import type { KeystoneProject } from './keystone-directory.ts';

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
  const parts: Readonly<Record<string, string>> = {
    '%n': project.name,
    '%i': project.id,
    '%d': project.domainID,
  };
  // In one pass: a project may be called `%i`.
  const namespace =
    configured ?? namespaceFormat.replace(PLACEHOLDER, (placeholder) => parts[placeholder] ?? '');
  const problem = namespaceProblem(namespace);
  return problem === undefined
    ? { namespace, configured: configured !== undefined }
    : { refused: `its namespace would be ${JSON.stringify(namespace)}, which ${problem}` };
}
