/**
 * What may be a namespace, a DNS label; and what may be that of a project, none that is the cluster's own.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names
 */

const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
export const MAX_LABEL_LENGTH = 63;

/** @returns why it can be no project's namespace, continuing "which …"; undefined where it can */
export function namespaceProblem(name: string): string | undefined {
  return (
    labelProblem(name) ?? (isReserved(name) ? 'is reserved for the cluster or for Stonegate' : undefined)
  );
}

/** @returns why it can be no namespace at all, continuing "which …"; undefined where it can */
export function labelProblem(name: string): string | undefined {
  if (name.length > MAX_LABEL_LENGTH) return `is longer than ${MAX_LABEL_LENGTH} characters`;
  if (!LABEL.test(name))
    return 'is no DNS-1123 label: lower-case letters, digits and "-", which is neither first nor last';
  return undefined;
}

/** The cluster's own, and where Stonegate itself may live. */
function isReserved(name: string): boolean {
  return name === 'default' || /^kube-/.test(name) || /^stonegate(?:-|$)/.test(name);
}
