/**
 * The RBAC manifests by which Stonegate may read the ConfigMaps that the webhook's rules are kept in: each by its name,
 * and to read alone.
 */
import type { ConfigMapReference } from '../api/config-v1alpha1.ts';
import { type Impersonator, subjectOf } from './rbac-manifests.ts';

/** @returns YAML documents */
export function configMapManifests(
  references: readonly ConfigMapReference[],
  reader: Impersonator,
): string[] {
  const namespaces = new Set(references.map(({ namespace }) => namespace));
  return [...namespaces].flatMap((namespace) => {
    const names = references.filter((reference) => reference.namespace === namespace);
    return [
      `# Read the rules of the webhook.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  namespace: "${namespace}"
  name: stonegate-webhook-rules
rules:
  - apiGroups: [""]
    resources: ["configmaps"]
    resourceNames: [${names.map(({ name }) => `"${name}"`).join(', ')}]
    verbs: ["get"]
`,
      `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  namespace: "${namespace}"
  name: stonegate-webhook-rules
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: stonegate-webhook-rules
subjects:
${subjectOf(reader)}`,
    ];
  });
}
