/**
 * The resources that the stand-in serves, in which groups and versions, and whether they belong to a
 * namespace, a tenant or the cluster. The facts are those of discovery on a real server; the documents are
 * computed from them.
 */
import { readFileSync } from 'node:fs';

export type Flavour = 'arktos' | 'kubernetes';
export type Scope = 'namespaced' | 'tenant' | 'cluster';

export interface Subresource {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly group?: string;
  readonly version?: string;
}

export interface Kind {
  readonly group: string;
  readonly versions: readonly string[];
  readonly resource: string;
  readonly kind: string;
  readonly singular: string;
  readonly scope: Scope;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly Subresource[];
  /** The group under which objects are stored: `extensions` shows the deployments of `apps`. */
  readonly storageGroup: string;
  /** Whether a CustomResourceDefinition defines the kind. */
  readonly custom: boolean;
  /** The value in discovery. */
  readonly tenanted: boolean;
  /**
   * A custom resource of scope `Cluster` on Arktos: reached through a tenant's path, stored once for all
   * tenants.
   */
  readonly shared: boolean;
  /** The columns of a custom resource. */
  readonly printerColumns?: readonly PrinterColumn[];
}

/** https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/ */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly priority: number;
}

/**
 * In the order in which the server lists them: versions on Arktos and, if it has the group, on Kubernetes.
 * The preferred version comes first.
 */
const GROUPS = `
core v1 v1
apiregistration.k8s.io v1,v1beta1 v1
extensions v1beta1
apps v1,v1beta2,v1beta1 v1
events.k8s.io v1beta1 v1
authentication.k8s.io v1,v1beta1 v1
authorization.k8s.io v1,v1beta1 v1
autoscaling v1,v2beta1,v2beta2 v2,v1
batch v1,v1beta1 v1
certificates.k8s.io v1beta1 v1
networking.k8s.io v1,v1beta1 v1
policy v1beta1 v1
rbac.authorization.k8s.io v1,v1beta1 v1
storage.k8s.io v1,v1beta1 v1
admissionregistration.k8s.io v1,v1beta1 v1
apiextensions.k8s.io v1,v1beta1 v1
scheduling.k8s.io v1,v1beta1 v1
coordination.k8s.io v1,v1beta1 v1
node.k8s.io v1beta1 v1`;

const EVERY_VERB = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
export const OBJECT_VERBS = ['get', 'patch', 'update'];

interface Row {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly scope?: Scope;
  readonly short?: readonly string[];
  readonly all?: boolean;
  readonly verbs?: readonly string[];
  readonly subresources?: readonly (string | Subresource)[];
  readonly versions?: readonly string[];
  readonly storageGroup?: string;
  readonly only?: Flavour;
}
const ROWS: readonly Row[] = readFileSync(new URL('kinds.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line): Row => JSON.parse(line));

/** The groups of a flavour with their versions, the preferred one first. */
export function groupsOf(flavour: Flavour) {
  return GROUPS.trim()
    .split('\n')
    .map((line) => {
      const [name = '', arktos = '', kubernetes = ''] = line.split(' ');
      const versions = (flavour === 'arktos' ? arktos : kubernetes).split(',').filter((each) => each !== '');
      return { name: name === 'core' ? '' : name, versions };
    })
    .filter(({ versions }) => versions.length > 0);
}

/** Every built-in kind of a flavour. */
export function builtInKinds(flavour: Flavour): Kind[] {
  const versions = new Map(groupsOf(flavour).map((group) => [group.name, group.versions]));
  return ROWS.filter(({ group, only = flavour }) => versions.has(group) && only === flavour).map((row) => ({
    ...row,
    versions: row.versions ?? versions.get(row.group) ?? [],
    singular: '',
    scope: row.scope ?? 'namespaced',
    verbs: row.verbs ?? EVERY_VERB,
    shortNames: row.short ?? [],
    categories: row.all ? ['all'] : [],
    subresources: (row.subresources ?? []).map((sub) =>
      typeof sub === 'string' ? { name: sub, kind: row.kind, verbs: OBJECT_VERBS } : sub,
    ),
    storageGroup: row.storageGroup ?? row.group,
    custom: false,
    tenanted: row.scope !== 'cluster',
    shared: false,
  }));
}
