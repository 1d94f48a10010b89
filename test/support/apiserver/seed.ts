/** Fills the cluster without HTTP, with what a test or the demo needs. */
import { rule } from '../policy-rule.ts';
import { type Cluster, furnishTenant } from './cluster.ts';
import type { JsonObject } from './json.ts';
import type { PodLog } from './pods.ts';
import { makeServiceAccountToken, type ServiceAccountToken } from './service-account-tokens.ts';
import type { TokenUser } from './users.ts';

const RBAC_GROUP = 'rbac.authorization.k8s.io';

export interface Place {
  /** Absent in a cluster without tenants; `system` by default in Arktos. */
  readonly tenant?: string;
  /** By default `default`. */
  readonly namespace?: string;
}

export type Subject = `user:${string}` | `group:${string}`;

export interface PolicyRule {
  readonly verbs: string[];
  readonly apiGroups?: string[];
  readonly resources?: string[];
  readonly resourceNames?: string[];
  readonly nonResourceURLs?: string[];
}

export interface Seed {
  /** A static token; the group `system:authenticated` is added automatically. */
  token(token: string, user: TokenUser): void;
  /** A token of a service account, which need not exist. */
  serviceAccountToken(account: ServiceAccountToken): string;
  /** A tenant as its controller creates it: three namespaces, an admin role and its binding. */
  tenant(name: string): void;
  namespace(name: string, place?: Place): void;
  /** A pod that runs unless `running` is false: then it is assigned to no node. */
  pod(
    name: string,
    place?: Place & { readonly running?: boolean; readonly labels?: Record<string, string> },
  ): PodLog;
  configMap(name: string, data: Record<string, string>, place?: Place): void;
  clusterRole(name: string, rules: readonly PolicyRule[], place?: Place): void;
  clusterRoleBinding(name: string, role: string, subjects: readonly Subject[], place?: Place): void;
  /** Binds a ClusterRole in one namespace. */
  roleBinding(name: string, role: string, subjects: readonly Subject[], place?: Place): void;
  customResource(
    definition: {
      group: string;
      plural: string;
      kind: string;
      scope: 'Namespaced' | 'Tenant' | 'Cluster';
      /** The value of the label that shares it with every tenant; not shared by default. */
      sharing?: string;
    },
    place?: Place,
  ): void;
  /**
   * An object of any kind that the cluster serves.
   *
   * @param resource with its group and version: `apps/v1/deployments`, `v1/nodes`
   */
  object(resource: string, name: string, object: JsonObject, place?: Place): void;
}

export function createSeed(cluster: Cluster): Seed {
  const object: Seed['object'] = (resource, name, body, place = {}) => {
    const parts = resource.split('/');
    const [group = '', version = '', plural = ''] = parts.length === 2 ? ['', ...parts] : parts;
    const tenant = place.tenant ?? (cluster.flavour === 'arktos' ? 'system' : '');
    const kind = cluster.kind(group, version, plural, tenant);
    if (kind === undefined) throw new Error(`the cluster serves no ${resource}`);
    cluster.write(kind, cluster.locate(kind, tenant, place.namespace ?? 'default', name), body);
  };
  const binding = (role: string, subjects: readonly Subject[]): JsonObject => ({
    subjects: subjects.map((subject) => {
      const [kind, ...rest] = subject.split(':');
      return { kind: kind === 'user' ? 'User' : 'Group', apiGroup: RBAC_GROUP, name: rest.join(':') };
    }),
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: role },
  });
  return {
    object,
    token: (token, user) => cluster.tokens.set(token, user),
    serviceAccountToken(account) {
      const { token, user } = makeServiceAccountToken(account, cluster.flavour);
      cluster.tokens.set(token, user);
      return token;
    },
    tenant: (name) => object('v1/tenants', name, { spec: { storageClusterId: '0' } }),
    namespace: (name, place) => object('v1/namespaces', name, {}, place),
    pod(name, place = {}) {
      const { running = true, labels, ...where } = place;
      const spec = { containers: [{ name: 'c', image: 'nginx' }], ...(running ? { nodeName: 'n1' } : {}) };
      object('v1/pods', name, { ...(labels ? { metadata: { labels } } : {}), spec }, where);
      const tenant = where.tenant ?? (cluster.flavour === 'arktos' ? 'system' : '');
      return cluster.pods.at({
        tenant,
        group: '',
        resource: 'pods',
        namespace: where.namespace ?? 'default',
        name,
      }).log;
    },
    configMap: (name, data, place) => object('v1/configmaps', name, { data }, place),
    clusterRole: (name, rules, place) =>
      object(`${RBAC_GROUP}/v1/clusterroles`, name, { rules: rules.map((rule) => ({ ...rule })) }, place),
    clusterRoleBinding: (name, role, subjects, place) =>
      object(`${RBAC_GROUP}/v1/clusterrolebindings`, name, binding(role, subjects), place),
    roleBinding: (name, role, subjects, place) =>
      object(`${RBAC_GROUP}/v1/rolebindings`, name, binding(role, subjects), place),
    customResource({ group, plural, kind, scope, sharing }, place) {
      const names = { plural, singular: kind.toLowerCase(), kind };
      const spec = {
        group,
        version: 'v1',
        versions: [{ name: 'v1', subresources: { status: {} } }],
        names,
        scope,
      };
      const labels = { 'arktos.futurewei.com/crd-sharing-policy': sharing };
      const body = sharing === undefined ? { spec } : { metadata: { labels }, spec };
      object('apiextensions.k8s.io/v1/customresourcedefinitions', `${plural}.${group}`, body, place);
    },
  };
}

const DISCOVERY_PATHS = [
  '/api',
  '/api/*',
  '/apis',
  '/apis/*',
  '/healthz',
  '/livez',
  '/readyz',
  '/openapi',
  '/openapi/*',
  '/version',
  '/version/',
];

/** Creates the initial objects of a new cluster. */
export function furnishCluster(cluster: Cluster, seed: Seed) {
  const everybody: Subject[] = ['group:system:authenticated'];
  if (cluster.flavour === 'arktos') seed.tenant('system');
  else furnishTenant(cluster, '');
  seed.object('v1/nodes', 'n1', { status: { nodeInfo: { kubeletVersion: 'v0.0.0' } } });
  seed.clusterRole('system:discovery', [{ verbs: ['get'], nonResourceURLs: DISCOVERY_PATHS }]);
  seed.clusterRoleBinding('system:discovery', 'system:discovery', everybody);
  const reviews = ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'];
  seed.clusterRole('system:basic-user', [
    { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: reviews },
    rule('create', 'selfsubjectreviews', 'authentication.k8s.io'),
  ]);
  seed.clusterRoleBinding('system:basic-user', 'system:basic-user', everybody);
}
