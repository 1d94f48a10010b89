/**
 * The namespace that belongs to a project. Keystone's names are free text and a namespace's is a DNS label: what does
 * not fit is refused in words. Lower-casing or cutting it off would sooner or later give two projects one namespace.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names
 */
import type { BindingsConfiguration } from '../api/config-bindings-v1alpha1.ts';
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

const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const MAX_LENGTH = 63;
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

/** @returns why it can be no project's namespace, continuing "which …"; undefined where it can */
export function namespaceProblem(name: string): string | undefined {
  if (name.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  if (!LABEL.test(name))
    return 'is no DNS-1123 label: lower-case letters, digits and "-", which is neither first nor last';
  return isReserved(name) ? 'is reserved for the cluster or for Stonegate' : undefined;
}

/** The cluster's own, and where Stonegate itself may live. */
function isReserved(name: string): boolean {
  return name === 'default' || /^kube-/.test(name) || /^stonegate(?:-|$)/.test(name);
}
