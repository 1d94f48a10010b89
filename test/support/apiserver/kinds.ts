/**
 * The resources that the stand-in serves, in which groups and versions, and whether they belong to a
 * namespace, a tenant or the cluster. The facts are those of discovery on a real server; the documents are
 * computed from them.
 */

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

interface Group {
  readonly name: string;
  /** The preferred version comes first; empty if this flavour lacks the group. */
  readonly versions: Readonly<Record<Flavour, readonly string[]>>;
}

const both = (...versions: string[]): Group['versions'] => ({ arktos: versions, kubernetes: ['v1'] });

/** In the order in which the server lists them. */
const GROUPS: readonly Group[] = [
  { name: '', versions: both('v1') },
  { name: 'apiregistration.k8s.io', versions: both('v1', 'v1beta1') },
  { name: 'extensions', versions: { arktos: ['v1beta1'], kubernetes: [] } },
  { name: 'apps', versions: both('v1', 'v1beta2', 'v1beta1') },
  { name: 'events.k8s.io', versions: both('v1beta1') },
  { name: 'authentication.k8s.io', versions: both('v1', 'v1beta1') },
  { name: 'authorization.k8s.io', versions: both('v1', 'v1beta1') },
  { name: 'autoscaling', versions: { arktos: ['v1', 'v2beta1', 'v2beta2'], kubernetes: ['v2', 'v1'] } },
  { name: 'batch', versions: both('v1', 'v1beta1') },
  { name: 'certificates.k8s.io', versions: both('v1beta1') },
  { name: 'networking.k8s.io', versions: both('v1', 'v1beta1') },
  { name: 'policy', versions: both('v1beta1') },
  { name: 'rbac.authorization.k8s.io', versions: both('v1', 'v1beta1') },
  { name: 'storage.k8s.io', versions: both('v1', 'v1beta1') },
  { name: 'admissionregistration.k8s.io', versions: both('v1', 'v1beta1') },
  { name: 'apiextensions.k8s.io', versions: both('v1', 'v1beta1') },
  { name: 'scheduling.k8s.io', versions: both('v1', 'v1beta1') },
  { name: 'coordination.k8s.io', versions: both('v1', 'v1beta1') },
  { name: 'node.k8s.io', versions: { arktos: ['v1beta1'], kubernetes: ['v1'] } },
];

const EVERY_VERB = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const SINGLE_VERBS = EVERY_VERB.filter((verb) => verb !== 'deletecollection');
export const OBJECT_VERBS = ['get', 'patch', 'update'];
const CONNECT_VERBS = ['create', 'delete', 'get', 'patch', 'update'];

interface Traits {
  readonly scope?: Scope;
  readonly short?: readonly string[];
  readonly all?: boolean;
  readonly verbs?: readonly string[];
  readonly subresources?: readonly (string | Subresource)[];
  readonly versions?: readonly string[];
  readonly storageGroup?: string;
  readonly only?: Flavour;
}
type Row = readonly [group: string, resource: string, kind: string, traits?: Traits];

const SCALE: Subresource = {
  name: 'scale',
  kind: 'Scale',
  verbs: OBJECT_VERBS,
  group: 'autoscaling',
  version: 'v1',
};
const connect = (name: string, kind: string, verbs: readonly string[] = ['create', 'get']): Subresource => ({
  name,
  kind,
  verbs,
});
const ROWS: readonly Row[] = [
  ['', 'actions', 'Action', { short: ['ac'], subresources: ['status'], only: 'arktos' }],
  ['', 'bindings', 'Binding', { verbs: ['create'] }],
  ['', 'componentstatuses', 'ComponentStatus', { scope: 'cluster', short: ['cs'], verbs: ['get', 'list'] }],
  ['', 'configmaps', 'ConfigMap', { short: ['cm'] }],
  ['', 'controllerinstances', 'ControllerInstance', { scope: 'cluster', short: ['co'], only: 'arktos' }],
  [
    '',
    'datapartitionconfigs',
    'DataPartitionConfig',
    { scope: 'cluster', short: ['datapartition'], only: 'arktos' },
  ],
  ['', 'endpoints', 'Endpoints', { short: ['ep'] }],
  ['', 'events', 'Event', { short: ['ev'] }],
  ['', 'limitranges', 'LimitRange', { short: ['limits'] }],
  [
    '',
    'namespaces',
    'Namespace',
    {
      scope: 'tenant',
      short: ['ns'],
      verbs: SINGLE_VERBS,
      subresources: [connect('finalize', 'Namespace', ['update']), 'status'],
    },
  ],
  [
    '',
    'nodes',
    'Node',
    {
      scope: 'cluster',
      short: ['no'],
      subresources: [connect('proxy', 'NodeProxyOptions', CONNECT_VERBS), 'status'],
    },
  ],
  ['', 'persistentvolumeclaims', 'PersistentVolumeClaim', { short: ['pvc'], subresources: ['status'] }],
  ['', 'persistentvolumes', 'PersistentVolume', { scope: 'tenant', short: ['pv'], subresources: ['status'] }],
  [
    '',
    'pods',
    'Pod',
    {
      short: ['po'],
      all: true,
      subresources: [
        connect('action', 'CustomAction', ['create']),
        connect('attach', 'PodAttachOptions'),
        connect('binding', 'Binding', ['create']),
        { name: 'eviction', kind: 'Eviction', verbs: ['create'], group: 'policy', version: 'v1beta1' },
        connect('exec', 'PodExecOptions'),
        connect('log', 'Pod', ['get']),
        connect('portforward', 'PodPortForwardOptions'),
        connect('proxy', 'PodProxyOptions', CONNECT_VERBS),
        'status',
      ],
    },
  ],
  ['', 'podtemplates', 'PodTemplate'],
  [
    '',
    'replicationcontrollers',
    'ReplicationController',
    { short: ['rc'], all: true, subresources: [SCALE, 'status'] },
  ],
  ['', 'resourcequotas', 'ResourceQuota', { short: ['quota'], subresources: ['status'] }],
  ['', 'secrets', 'Secret'],
  ['', 'serviceaccounts', 'ServiceAccount', { short: ['sa'] }],
  [
    '',
    'services',
    'Service',
    {
      short: ['svc'],
      all: true,
      verbs: SINGLE_VERBS,
      subresources: [connect('proxy', 'ServiceProxyOptions', CONNECT_VERBS), 'status'],
    },
  ],
  ['', 'storageclusters', 'StorageCluster', { scope: 'cluster', short: ['etcd'], only: 'arktos' }],
  [
    '',
    'tenants',
    'Tenant',
    {
      scope: 'cluster',
      short: ['te'],
      verbs: SINGLE_VERBS,
      subresources: [connect('finalize', 'Tenant', ['update']), 'status'],
      only: 'arktos',
    },
  ],
  ['apiregistration.k8s.io', 'apiservices', 'APIService', { scope: 'tenant', subresources: ['status'] }],
  [
    'extensions',
    'deployments',
    'Deployment',
    { short: ['deploy'], subresources: [SCALE, 'status'], storageGroup: 'apps' },
  ],
  [
    'extensions',
    'ingresses',
    'Ingress',
    { short: ['ing'], subresources: ['status'], storageGroup: 'networking.k8s.io' },
  ],
  ['apps', 'controllerrevisions', 'ControllerRevision'],
  ['apps', 'daemonsets', 'DaemonSet', { short: ['ds'], all: true, subresources: ['status'] }],
  ['apps', 'deployments', 'Deployment', { short: ['deploy'], all: true, subresources: [SCALE, 'status'] }],
  ['apps', 'replicasets', 'ReplicaSet', { short: ['rs'], all: true, subresources: [SCALE, 'status'] }],
  ['apps', 'statefulsets', 'StatefulSet', { short: ['sts'], all: true, subresources: [SCALE, 'status'] }],
  ['events.k8s.io', 'events', 'Event', { short: ['ev'], storageGroup: '' }],
  ['authentication.k8s.io', 'tokenreviews', 'TokenReview', { scope: 'tenant', verbs: ['create'] }],
  [
    'authentication.k8s.io',
    'selfsubjectreviews',
    'SelfSubjectReview',
    { scope: 'tenant', verbs: ['create'], only: 'kubernetes' },
  ],
  ['authorization.k8s.io', 'localsubjectaccessreviews', 'LocalSubjectAccessReview', { verbs: ['create'] }],
  [
    'authorization.k8s.io',
    'selfsubjectaccessreviews',
    'SelfSubjectAccessReview',
    { scope: 'tenant', verbs: ['create'] },
  ],
  [
    'authorization.k8s.io',
    'selfsubjectrulesreviews',
    'SelfSubjectRulesReview',
    { scope: 'tenant', verbs: ['create'] },
  ],
  [
    'authorization.k8s.io',
    'subjectaccessreviews',
    'SubjectAccessReview',
    { scope: 'tenant', verbs: ['create'] },
  ],
  [
    'autoscaling',
    'horizontalpodautoscalers',
    'HorizontalPodAutoscaler',
    { short: ['hpa'], all: true, subresources: ['status'] },
  ],
  ['batch', 'cronjobs', 'CronJob', { short: ['cj'], all: true, subresources: ['status'] }],
  ['batch', 'jobs', 'Job', { all: true, subresources: ['status'], versions: ['v1'] }],
  [
    'certificates.k8s.io',
    'certificatesigningrequests',
    'CertificateSigningRequest',
    { scope: 'tenant', short: ['csr'], subresources: ['status'] },
  ],
  ['networking.k8s.io', 'ingresses', 'Ingress', { short: ['ing'], subresources: ['status'] }],
  ['networking.k8s.io', 'networkpolicies', 'NetworkPolicy', { short: ['netpol'], versions: ['v1'] }],
  ['policy', 'poddisruptionbudgets', 'PodDisruptionBudget', { short: ['pdb'], subresources: ['status'] }],
  ['policy', 'podsecuritypolicies', 'PodSecurityPolicy', { scope: 'tenant', short: ['psp'], only: 'arktos' }],
  ['rbac.authorization.k8s.io', 'clusterrolebindings', 'ClusterRoleBinding', { scope: 'tenant' }],
  ['rbac.authorization.k8s.io', 'clusterroles', 'ClusterRole', { scope: 'tenant' }],
  ['rbac.authorization.k8s.io', 'rolebindings', 'RoleBinding'],
  ['rbac.authorization.k8s.io', 'roles', 'Role'],
  ['storage.k8s.io', 'csidrivers', 'CSIDriver', { scope: 'cluster' }],
  ['storage.k8s.io', 'storageclasses', 'StorageClass', { scope: 'tenant', short: ['sc'] }],
  ['storage.k8s.io', 'volumeattachments', 'VolumeAttachment', { scope: 'tenant' }],
  [
    'admissionregistration.k8s.io',
    'mutatingwebhookconfigurations',
    'MutatingWebhookConfiguration',
    { scope: 'cluster' },
  ],
  [
    'admissionregistration.k8s.io',
    'validatingwebhookconfigurations',
    'ValidatingWebhookConfiguration',
    { scope: 'cluster' },
  ],
  [
    'apiextensions.k8s.io',
    'customresourcedefinitions',
    'CustomResourceDefinition',
    { scope: 'tenant', short: ['crd', 'crds'], subresources: ['status'] },
  ],
  ['scheduling.k8s.io', 'priorityclasses', 'PriorityClass', { scope: 'cluster', short: ['pc'] }],
  ['coordination.k8s.io', 'leases', 'Lease'],
  ['node.k8s.io', 'runtimeclasses', 'RuntimeClass', { scope: 'cluster' }],
];

/** The groups of a flavour with their versions, the preferred one first. */
export function groupsOf(flavour: Flavour): { name: string; versions: readonly string[] }[] {
  return GROUPS.map(({ name, versions }) => ({ name, versions: versions[flavour] })).filter(
    ({ versions }) => versions.length > 0,
  );
}

/** Every built-in kind of a flavour. */
export function builtInKinds(flavour: Flavour): Kind[] {
  const versions = new Map(groupsOf(flavour).map((group) => [group.name, group.versions]));
  return ROWS.filter(
    ([group, , , traits]) => versions.has(group) && (traits?.only ?? flavour) === flavour,
  ).map(([group, resource, kind, traits = {}]) => ({
    group,
    versions: traits.versions ?? versions.get(group) ?? [],
    resource,
    kind,
    singular: '',
    scope: traits.scope ?? 'namespaced',
    verbs: traits.verbs ?? EVERY_VERB,
    shortNames: traits.short ?? [],
    categories: traits.all ? ['all'] : [],
    subresources: (traits.subresources ?? []).map((sub) =>
      typeof sub === 'string' ? { name: sub, kind, verbs: OBJECT_VERBS } : sub,
    ),
    storageGroup: traits.storageGroup ?? group,
    custom: false,
    tenanted: traits.scope !== 'cluster',
    shared: false,
  }));
}
