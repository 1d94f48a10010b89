/** Roles and bindings on a real kube-apiserver, created by its administrator. */
import type { Kubernetes } from './api-server.ts';

const GROUP = 'rbac.authorization.k8s.io';
export const RBAC = `/apis/${GROUP}/v1`;

/** `account:NAMESPACE:NAME` is a service account. */
export type Subject = `${'user' | 'group' | 'account'}:${string}`;

export interface Binding {
  readonly name: string;
  /** The name of a ClusterRole, or `Role/NAME`. */
  readonly role: string;
  readonly subjects: readonly Subject[];
  /** By default the binding applies to the whole cluster. */
  readonly namespace?: string;
}

export async function bind(kubernetes: Kubernetes, { name, role, subjects, namespace }: Binding) {
  const path =
    namespace === undefined ? `${RBAC}/clusterrolebindings` : `${RBAC}/namespaces/${namespace}/rolebindings`;
  const inNamespace = role.startsWith('Role/');
  await kubernetes.create(path, {
    metadata: { name },
    roleRef: {
      apiGroup: GROUP,
      kind: inNamespace ? 'Role' : 'ClusterRole',
      name: inNamespace ? role.slice('Role/'.length) : role,
    },
    subjects: subjects.map(subjectOf),
  });
}

/** Creates a role and a binding of the same name, in the namespace if there is one. */
export async function grant(
  kubernetes: Kubernetes,
  { rules, ...binding }: Omit<Binding, 'role'> & { readonly rules: readonly object[] },
) {
  const { name, namespace } = binding;
  const metadata = { name };
  if (namespace === undefined) await kubernetes.create(`${RBAC}/clusterroles`, { metadata, rules });
  else await kubernetes.create(`${RBAC}/namespaces/${namespace}/roles`, { metadata, rules });
  await bind(kubernetes, { ...binding, role: namespace === undefined ? name : `Role/${name}` });
}

function subjectOf(subject: Subject): object {
  const [kind, ...rest] = subject.split(':');
  if (kind === 'account') return { kind: 'ServiceAccount', namespace: rest[0], name: rest[1] };
  return { apiGroup: GROUP, kind: kind === 'user' ? 'User' : 'Group', name: rest.join(':') };
}
