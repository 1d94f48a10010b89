/**
 * Kubernetes' own resources that are in no namespace: a request for one has no namespace, so RoleBindings do
 * not count. Namespaces are special, see `who-can.ts`.
 * https://kubernetes.io/docs/reference/kubectl/quick-reference/
 */

const BY_GROUP: Readonly<Record<string, string>> = {
  '': 'nodes persistentvolumes componentstatuses tenants',
  'admissionregistration.k8s.io':
    'mutatingwebhookconfigurations validatingwebhookconfigurations validatingadmissionpolicies validatingadmissionpolicybindings mutatingadmissionpolicies mutatingadmissionpolicybindings',
  'apiextensions.k8s.io': 'customresourcedefinitions',
  'apiregistration.k8s.io': 'apiservices',
  'authentication.k8s.io': 'tokenreviews selfsubjectreviews',
  'authorization.k8s.io': 'selfsubjectaccessreviews selfsubjectrulesreviews subjectaccessreviews',
  'certificates.k8s.io': 'certificatesigningrequests clustertrustbundles',
  'flowcontrol.apiserver.k8s.io': 'flowschemas prioritylevelconfigurations',
  'networking.k8s.io': 'ingressclasses ipaddresses servicecidrs',
  'node.k8s.io': 'runtimeclasses',
  policy: 'podsecuritypolicies',
  'rbac.authorization.k8s.io': 'clusterroles clusterrolebindings',
  'resource.k8s.io': 'deviceclasses resourceslices',
  'scheduling.k8s.io': 'priorityclasses',
  'storage.k8s.io': 'csidrivers csinodes storageclasses volumeattachments volumeattributesclasses',
};

const NAMES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(BY_GROUP).map(([group, names]) => [group, new Set(names.split(' '))]),
);

/** @returns false also for a custom resource, which is not known here */
export function isKnownClusterScoped(apiGroup: string, resource: string): boolean {
  return NAMES.get(apiGroup)?.has(resource) === true;
}
