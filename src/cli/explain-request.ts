/**
 * Parses the arguments of `stonegate explain` (`get pods -n web`, or a method and a path) into a request.
 * The built-in resources are known without a call to the API server; others are written as
 * `widgets.v1.example.com`.
 * https://kubernetes.io/docs/reference/kubectl/#resource-types
 */
import type { ExplainedRequest } from '../features/explain/stonegate-v1alpha1.ts';
import { type OptionValues, refuseWords, UsageError, VALUE, VALUES } from './command.ts';

/** The options of the command that describe the request. */
export const REQUEST_OPTIONS = {
  namespace: { type: 'string', short: 'n' },
  'all-namespaces': { type: 'boolean', short: 'A' },
  subresource: VALUE,
  method: VALUE,
  path: VALUE,
  header: VALUES,
  upgrade: VALUE,
} as const;

type RequestFlags = OptionValues<typeof REQUEST_OPTIONS> & { readonly defaultNamespace: string };

const METHODS: ReadonlyMap<string, string> = new Map([
  ['get', 'GET'],
  ['list', 'GET'],
  ['watch', 'GET'],
  ['create', 'POST'],
  ['update', 'PUT'],
  ['patch', 'PATCH'],
  ['delete', 'DELETE'],
  ['deletecollection', 'DELETE'],
]);
/** kubectl's commands for subresources of a pod; all except `logs` are upgrades. */
const POD_WORDS: ReadonlyMap<string, string> = new Map([
  ['exec', 'exec'],
  ['attach', 'attach'],
  ['port-forward', 'portforward'],
  ['logs', 'log'],
]);

/** With which a request in words begins. */
export const REQUEST_VERBS: readonly string[] = [...METHODS.keys(), ...POD_WORDS.keys()];

/**
 * @param namespace if `-n` names none
 * @throws UsageError
 */
export function requestOf(
  words: readonly string[],
  given: OptionValues<typeof REQUEST_OPTIONS>,
  namespace = 'default',
): ExplainedRequest {
  const flags = { ...given, defaultNamespace: namespace };
  const headers = (flags.header ?? []).map(headerOf);
  const { method, path, upgrade } =
    flags.path === undefined ? requestOfWords(words, flags) : raw(words, flags);
  return {
    method,
    path,
    ...(headers.length > 0 && { headers }),
    ...(upgrade !== undefined && { upgrade }),
  };
}

function raw(words: readonly string[], { method = 'GET', path = '', upgrade }: RequestFlags) {
  if (words.length > 0) throw new UsageError('either --path or words like "get pods", not both');
  return { method: method.toUpperCase(), path, upgrade };
}

function requestOfWords(words: readonly string[], flags: RequestFlags) {
  const [verb, ...operands] = words;
  if (verb === undefined) throw new UsageError('what is to be explained? Words like "get pods", or --path');
  if (flags.method !== undefined) throw new UsageError('--method needs --path');
  const subresource = POD_WORDS.get(verb);
  if (subresource !== undefined) return podRequest(subresource, operands, flags);
  const method = METHODS.get(verb);
  if (method === undefined)
    throw new UsageError(`unknown verb ${JSON.stringify(verb)}: one of ${REQUEST_VERBS.join(', ')}`);
  const [type = '', name = ''] = targetOf(operands);
  if (name === '' && flags.subresource !== undefined)
    throw new UsageError('--subresource needs the name of an object');
  const watching = verb === 'watch' ? watchQuery(name) : '';
  const path = pathOf(type, verb === 'watch' ? '' : name, flags);
  return { method, path: `${path}${watching}`, upgrade: flags.upgrade };
}

function podRequest(subresource: string, operands: readonly string[], flags: RequestFlags) {
  const [name, ...more] = operands;
  if (name === undefined || more.length > 0) throw new UsageError('expected the name of one pod');
  const path = pathOf('pods', name.replace(/^pods?\//, ''), { ...flags, subresource });
  const upgrade = flags.upgrade ?? (subresource === 'log' ? undefined : 'websocket');
  return { method: 'GET', path, upgrade };
}

/** `pods web` or `pods/web`. */
function targetOf([first = '', second, ...more]: readonly string[]): readonly string[] {
  if (first === '') throw new UsageError('which resource? For example: get pods');
  refuseWords(more);
  return second === undefined ? first.split('/', 2) : [first, second];
}

function pathOf(word: string, name: string, flags: RequestFlags): string {
  const { namespace, defaultNamespace, 'all-namespaces': everywhere = false, subresource } = flags;
  const type = resourceType(word, namespace !== undefined);
  if (type === undefined) {
    throw new UsageError(
      `no resource is known as ${JSON.stringify(word)}: write RESOURCE.VERSION.GROUP, or use --path`,
    );
  }
  const { group, version, resource, namespaced } = type;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const place = namespaced && !everywhere ? ['namespaces', namespace ?? defaultNamespace] : [];
  const segments = [...place, resource, name, subresource ?? ''].filter((segment) => segment !== '');
  return [root, ...segments.map(escapeSegment)].join('/');
}

function watchQuery(name: string): string {
  return name === '' ? '?watch=true' : `?fieldSelector=metadata.name%3D${escapeSegment(name)}&watch=true`;
}

/** Escaped as by Go's clients. */
function escapeSegment(segment: string): string {
  return encodeURIComponent(segment).replaceAll('%3A', ':');
}

function headerOf(line: string): readonly [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new UsageError('--header is written as "Name: value"');
  return [name, value];
}

interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespaced: boolean;
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
 * @param namespaced the assumption for a resource that is not built in
 * @returns undefined if the word names no resource
 */
function resourceType(word: string, namespaced: boolean): ResourceType | undefined {
  const known = BY_WORD.get(word.toLowerCase());
  if (known !== undefined) return known;
  const [, resource, version, group] = /^([a-z0-9-]+)\.(v\d[a-z0-9]*)\.([a-z0-9.-]+)$/.exec(word) ?? [];
  if (resource === undefined || version === undefined || group === undefined) return undefined;
  const builtIn = BY_WORD.get(resource);
  if (builtIn?.group === group) return { group, version, resource, namespaced: builtIn.namespaced };
  return { group, version, resource, namespaced };
}
