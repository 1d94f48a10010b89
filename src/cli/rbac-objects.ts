/**
 * Objects of RBAC as YAML documents, with comments for the administrator who approves them: roles bound to
 * Stonegate's user or service account at the API server, and the service account itself.
 */
import { Document, isNode } from 'yaml';
import type { CommentedRule } from '../kubernetes/right.ts';
import type { TenancyFacts } from '../tenancy/facts.ts';

export type Subject =
  | { readonly kind: 'User'; readonly name: string }
  | { readonly kind: 'ServiceAccount'; readonly namespace: string; readonly name: string };

const RBAC = 'rbac.authorization.k8s.io';

/** Repeated lists are written out. kubectl reads YAML 1.1, in which a name such as `on` is a boolean. */
export function manifest(object: object): Document {
  return new Document(object, { compat: 'yaml-1.1', aliasDuplicateObjects: false });
}

/** YAML for `kubectl apply -f -`. */
export function manifestText(documents: readonly Document[]): string {
  return documents.map((document) => document.toString({ lineWidth: 0 })).join('---\n');
}

/** A cluster role and its binding: see `boundRole`. */
export function boundClusterRole(
  name: string,
  rules: readonly CommentedRule[],
  subject: Subject,
): Document[] {
  return boundRole('ClusterRole', { name }, rules, subject);
}

/**
 * A role and its binding. Their name includes the subject, so that applying the rights of one account never
 * takes those of another.
 */
export function boundRole(
  kind: 'ClusterRole' | 'Role',
  { namespace, name }: { readonly namespace?: string; readonly name: string },
  rules: readonly CommentedRule[],
  subject: Subject,
): Document[] {
  const apiVersion = `${RBAC}/v1`;
  const account = subject.kind === 'User' ? subject.name : `${subject.namespace}:${subject.name}`;
  // Kubernetes refuses `/` and `%` in names.
  const metadata = { ...(namespace && { namespace }), name: `${name}:${account.replace(/[/%]/g, '-')}` };
  const role = manifest({ apiVersion, kind, metadata, rules: rules.map(({ rule }) => rule) });
  for (const [at, { comment }] of rules.entries()) {
    const node = role.getIn(['rules', at], true);
    if (comment !== undefined && isNode(node)) node.commentBefore = comment.replace(/^/gm, ' ');
  }
  const reference = subject.kind === 'User' ? { apiGroup: RBAC, ...subject } : subject;
  const binding = {
    apiVersion,
    kind: `${kind}Binding`,
    metadata,
    roleRef: { apiGroup: RBAC, kind, name: metadata.name },
    subjects: [reference],
  };
  return [role, manifest(binding)];
}

/** A service account with its namespace and a token; nothing for a user. */
export function serviceAccountDocuments(subject: Subject): Document[] {
  if (subject.kind === 'User') return [];
  const { namespace, name } = subject;
  const token = manifest({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/service-account-token',
    metadata: {
      namespace,
      name: `${name}-token`,
      annotations: { 'kubernetes.io/service-account.name': name },
    },
  });
  token.commentBefore =
    ' A token that does not run out, for a Stonegate outside the cluster. Inside, mount a projected token instead.';
  return [
    manifest({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }),
    manifest({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } }),
    token,
  ];
}

/**
 * Who applies the manifests, and where the subject's credential goes.
 *
 * @param section of the configuration that has the credential
 */
export function subjectNotes(
  subject: Subject,
  { operatorIsATenant }: Pick<TenancyFacts, 'operatorIsATenant'>,
  section: string,
): string {
  const apply = operatorIsATenant
    ? `# Arktos: apply as an administrator of the system tenant. Only a user of the system tenant has these rights, and
# a client certificate says which tenant its user is of; tokens of the TokenRequest API do not.`
    : '# An ordinary Kubernetes cluster: apply as a cluster administrator.';
  const organization = operatorIsATenant ? ', O=tenant:system; exactly one O' : '';
  return subject.kind === 'ServiceAccount'
    ? `${apply}
# Its token:
#   kubectl -n ${subject.namespace} get secret ${subject.name}-token -o jsonpath='{.data.token}' | base64 -d
# goes into the file that ${section}.credential.tokenFile names.`
    : `${apply}
# Its client certificate (subject CN=${subject.name}${organization}), signed by the API server's client CA,
# goes into the files that ${section}.credential.certFile and keyFile name.`;
}
