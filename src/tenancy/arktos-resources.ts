/**
 * The resources that an Arktos API server has by itself, outside of the core group, which has no custom ones. None of
 * them is shared by tenants but those that `CLUSTER_SCOPED` names. One that is missing here costs a request for
 * discovery.
 */
const RESOURCES: Readonly<Record<string, string>> = {
  'apiregistration.k8s.io': 'apiservices',
  extensions:
    'daemonsets deployments ingresses networkpolicies podsecuritypolicies replicasets replicationcontrollers',
  apps: 'controllerrevisions daemonsets deployments replicasets statefulsets',
  'events.k8s.io': 'events',
  'authentication.k8s.io': 'tokenreviews selfsubjectreviews',
  'authorization.k8s.io':
    'localsubjectaccessreviews selfsubjectaccessreviews selfsubjectrulesreviews subjectaccessreviews',
  autoscaling: 'horizontalpodautoscalers',
  batch: 'cronjobs jobs',
  'certificates.k8s.io': 'certificatesigningrequests',
  'networking.k8s.io': 'ingresses networkpolicies',
  policy: 'poddisruptionbudgets podsecuritypolicies',
  'rbac.authorization.k8s.io': 'clusterrolebindings clusterroles rolebindings roles',
  'storage.k8s.io': 'csidrivers csinodes storageclasses volumeattachments',
  'admissionregistration.k8s.io': 'mutatingwebhookconfigurations validatingwebhookconfigurations',
  'apiextensions.k8s.io': 'customresourcedefinitions',
  'scheduling.k8s.io': 'priorityclasses',
  'coordination.k8s.io': 'leases',
  'node.k8s.io': 'runtimeclasses',
};

const BY_GROUP: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(RESOURCES).map(([group, names]) => [group, new Set(names.split(' '))]),
);

/** Stonegate's own group, which is never forwarded, counts as built in. */
export function isBuiltIn(group: string, resource: string): boolean {
  return group === '' || group === 'stonegate.dev' || BY_GROUP.get(group)?.has(resource) === true;
}
