/**
 * The resources every Kubernetes has, by the words people type, so that `get pods` can be made a path without asking
 * anybody. Others are written as kubectl takes them too: `widgets.v1.example.com`.
 * https://kubernetes.io/docs/reference/kubectl/#resource-types
 */

export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespaced: boolean;
  /** That it is namespaced, or is not, is only what the caller believed. */
  readonly believed?: true;
}

/** `group/version`, then `resource[,short]`, namespaced ones before the bar. */
const TABLE: readonly (readonly [groupVersion: string, resources: string])[] = [
  [
    '/v1',
    'pods,po services,svc configmaps,cm secrets serviceaccounts,sa endpoints,ep events,ev persistentvolumeclaims,pvc replicationcontrollers,rc limitranges,limits resourcequotas,quota podtemplates | nodes,no namespaces,ns persistentvolumes,pv componentstatuses,cs tenants',
  ],
  ['apps/v1', 'deployments,deploy replicasets,rs statefulsets,sts daemonsets,ds controllerrevisions |'],
  ['batch/v1', 'jobs cronjobs,cj |'],
  ['autoscaling/v2', 'horizontalpodautoscalers,hpa |'],
  ['policy/v1', 'poddisruptionbudgets,pdb |'],
  ['networking.k8s.io/v1', 'ingresses,ing networkpolicies,netpol | ingressclasses'],
  ['rbac.authorization.k8s.io/v1', 'roles rolebindings | clusterroles clusterrolebindings'],
  ['storage.k8s.io/v1', '| storageclasses,sc volumeattachments csidrivers csinodes'],
  ['scheduling.k8s.io/v1', '| priorityclasses,pc'],
  ['node.k8s.io/v1', '| runtimeclasses'],
  ['coordination.k8s.io/v1', 'leases |'],
  ['discovery.k8s.io/v1', 'endpointslices |'],
  ['certificates.k8s.io/v1', '| certificatesigningrequests,csr'],
  ['apiextensions.k8s.io/v1', '| customresourcedefinitions,crd,crds'],
  ['admissionregistration.k8s.io/v1', '| mutatingwebhookconfigurations validatingwebhookconfigurations'],
];

const BY_WORD: ReadonlyMap<string, ResourceType> = new Map(TABLE.flatMap(wordsOf));

function wordsOf([groupVersion, resources]: (typeof TABLE)[number]): [string, ResourceType][] {
  const [group = '', version = ''] = groupVersion.split('/');
  return resources.split('|').flatMap((part, at) =>
    part
      .split(' ')
      .filter((each) => each !== '')
      .flatMap((each) => {
        const [resource = '', ...short] = each.split(',');
        const type = { group, version, resource, namespaced: at === 0 };
        return [resource, singular(resource), ...short].map((word): [string, ResourceType] => [word, type]);
      }),
  );
}

function singular(resource: string): string {
  if (resource.endsWith('ies')) return `${resource.slice(0, -3)}y`;
  return resource.endsWith('sses') ? resource.slice(0, -2) : resource.slice(0, -1);
}

/**
 * @param word as typed: `po`, `deployments`, `widgets.v1.example.com`
 * @param namespaced what to believe of a resource nobody here knows
 * @returns undefined where the word names nothing
 */
export function resourceType(word: string, namespaced: boolean): ResourceType | undefined {
  const known = BY_WORD.get(word.toLowerCase());
  if (known !== undefined) return known;
  const [, resource, version, group] = /^([a-z0-9-]+)\.(v\d[a-z0-9]*)\.([a-z0-9.-]+)$/.exec(word) ?? [];
  if (resource === undefined || version === undefined || group === undefined) return undefined;
  const builtIn = BY_WORD.get(resource);
  if (builtIn?.group === group) return { group, version, resource, namespaced: builtIn.namespaced };
  return { group, version, resource, namespaced, believed: true };
}
