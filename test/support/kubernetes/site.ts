/**
 * Stonegate in shared mode in front of a real kube-apiserver, with the Keystone and the issuer of the
 * testbed. It has the rights that `stonegate manifests rbac` prints, and a token of a service account.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { isObject, type JsonObject } from '../apiserver/json.ts';
import { eventually } from '../eventually.ts';
import { posted } from '../https-client.ts';
import type { Credential } from '../kubeconfig.ts';
import { printedManifests } from '../manifests.ts';
import { type RunningStonegate, serveTestbed } from '../stonegate.ts';
import { createTestbed, type Testbed, type TestbedOptions } from '../testbed.ts';
import { type Kubernetes, type KubernetesOptions, startKubernetes } from './api-server.ts';

export interface KubernetesSite {
  readonly kubernetes: Kubernetes;
  readonly stonegate: RunningStonegate;
  /** The output of `stonegate manifests rbac`. */
  readonly printed: readonly JsonObject[];
  /**
   * A client certificate for the API server with the name and groups of the user that this token has in
   * Stonegate.
   */
  direct(token: string): Promise<Credential>;
  /** A new token of a Keystone user in the tenant who has no role. */
  newcomer(name: string, tenant?: string): string;
  /** Lets the users do everything in the namespace, which is created if it does not exist. */
  letWork(namespace: string, ...users: readonly string[]): Promise<void>;
}

export interface KubernetesSiteOptions extends KubernetesOptions {
  readonly configuration?: TestbedOptions['configuration'];
  readonly keystoneConfiguration?: object;
  readonly portal?: TestbedOptions['portal'];
  /** Files beside Stonegate's configuration: name → content. */
  readonly stonegateFiles?: Readonly<Record<string, string>>;
  /** Additional options of `stonegate manifests rbac`. */
  readonly manifestWords?: readonly string[];
  /** Changes each object of `stonegate manifests rbac` before it is applied. */
  readonly changed?: (object: JsonObject) => JsonObject;
}

const NAMESPACE = 'stonegate';
/** Who the user is, as the API server knows them: the path, and the request. */
export const WHOAMI_PATH = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
export const WHOAMI = posted('{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}');

/** A site without Stonegate itself. */
export interface PreparedSite extends Pick<KubernetesSite, 'kubernetes' | 'printed' | 'letWork'> {
  readonly testbed: Testbed;
}

/** kube-apiserver ends with the test; the caller closes the testbed. */
export async function prepareKubernetesSite(
  t: Pick<Test, 'testdir' | 'teardown'>,
  options: KubernetesSiteOptions = {},
): Promise<PreparedSite> {
  const kubernetes = await startKubernetes(t, options);
  const testbed = await createTestbed({
    folder: join(t.testdir({}), 'land'),
    mode: 'shared',
    ...(options.keystoneConfiguration && { keystoneConfiguration: options.keystoneConfiguration }),
    ...(options.portal && { portal: options.portal }),
    configuration: {
      ...options.configuration,
      upstream: {
        server: kubernetes.url,
        caFile: 'kubernetes.crt',
        credential: { tokenFile: 'kubernetes-token' },
        ...options.configuration?.upstream,
      },
    },
  });
  const file = (name: string) => join(dirname(testbed.configFile), name);
  await writeFile(file('kubernetes.crt'), kubernetes.authority.cert);
  for (const [name, content] of Object.entries(options.stonegateFiles ?? {}))
    await writeFile(file(name), content, { mode: 0o600 });
  const printed = await printedManifests(
    'rbac',
    '--config',
    testbed.configFile,
    ...(options.manifestWords ?? []),
  );
  for (const object of printed) await apply(kubernetes, options.changed?.(object) ?? object);
  await writeFile(file('kubernetes-token'), await serviceAccountToken(kubernetes, NAMESPACE, 'stonegate'));
  return {
    kubernetes,
    testbed,
    printed,
    letWork: (namespace, ...users) => letWork(kubernetes, namespace, users),
  };
}

/** Everything ends with the test. */
export async function startKubernetesSite(
  t: Pick<Test, 'testdir' | 'teardown'>,
  options: KubernetesSiteOptions = {},
): Promise<KubernetesSite> {
  const { kubernetes, testbed, printed, letWork } = await prepareKubernetesSite(t, options);
  const stonegate = await serveTestbed(t, testbed);
  return {
    kubernetes,
    stonegate,
    printed,
    letWork,
    async direct(token) {
      const reply = await stonegate.ask(token, WHOAMI_PATH, WHOAMI);
      const review: { status: { userInfo: { username: string; groups: string[] } } } = JSON.parse(reply.body);
      const { username, groups } = review.status.userInfo;
      // The API server adds this group to every authenticated user.
      return kubernetes.user(
        username,
        groups.filter((group) => group !== 'system:authenticated'),
      );
    },
    newcomer: (name, tenant = 'acme') =>
      testbed.keystone.issue(testbed.keystone.directory.user(tenant, name)),
  };
}

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Gives Stonegate the provisioner's rights and token, and the API server Stonegate's custom resources. */
export async function addProvisioner(kubernetes: Kubernetes, configFile: string) {
  for (const object of await printedManifests('rbac', '--config', configFile, '--provisioner'))
    await apply(kubernetes, object);
  const token = await serviceAccountToken(kubernetes, NAMESPACE, 'stonegate-provisioner');
  await writeFile(join(dirname(configFile), 'provisioner-token'), token);
  const definitions = await printedManifests('crds', '--mode', 'shared');
  for (const object of definitions) await kubernetes.create(CRDS, object);
  for (const { metadata } of definitions) {
    const [resource] = isObject(metadata) ? String(metadata.name).split('.') : [];
    const path = `/apis/tenancy.stonegate.dev/v1alpha1/namespaces/${NAMESPACE}/${resource}`;
    await eventually(async () => (await kubernetes.ask(kubernetes.admin, path)).status === 200);
  }
}

async function letWork(kubernetes: Kubernetes, namespace: string, users: readonly string[]) {
  await apply(kubernetes, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await kubernetes.create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
    metadata: { generateName: 'workers-' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: users.map((name) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name })),
  });
  for (const user of users) {
    const resourceAttributes = { namespace, verb: 'create', resource: 'pods' };
    await eventually(() => isAllowed(kubernetes, { user, resourceAttributes }));
  }
}

/**
 * Asks with a SubjectAccessReview, since the RBAC authorizer sees a change only a moment after it was made.
 */
export async function isAllowed(kubernetes: Kubernetes, spec: object) {
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const reply = await kubernetes.admit('POST', path, { spec });
  const { status }: { status: { allowed: boolean } } = JSON.parse(reply.body);
  return status.allowed;
}

const PATHS: Readonly<Record<string, string>> = {
  Namespace: '/api/v1/namespaces',
  ServiceAccount: '/api/v1/namespaces/NAMESPACE/serviceaccounts',
  Secret: '/api/v1/namespaces/NAMESPACE/secrets',
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  Role: '/apis/rbac.authorization.k8s.io/v1/namespaces/NAMESPACE/roles',
  RoleBinding: '/apis/rbac.authorization.k8s.io/v1/namespaces/NAMESPACE/rolebindings',
};

/** Applies the object as `kubectl apply --server-side` does, as the administrator. */
export async function apply(kubernetes: Kubernetes, object: JsonObject) {
  const { kind, metadata } = object;
  const { name, namespace = '' } = isObject(metadata) ? metadata : {};
  const path = `${PATHS[String(kind)]?.replace('NAMESPACE', String(namespace))}/${String(name)}`;
  const reply = await kubernetes.ask(kubernetes.admin, `${path}?fieldManager=test&force=true`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: JSON.stringify(object),
  });
  if (reply.status >= 300) throw new Error(`${path}: ${reply.status} ${reply.body}`);
}

/** A token from the TokenRequest API. */
export async function serviceAccountToken(
  kubernetes: Kubernetes,
  namespace: string,
  name: string,
  audiences?: readonly string[],
) {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const reply = await kubernetes.admit('POST', path, { spec: { audiences, expirationSeconds: 3_600 } });
  const request: { status: { token: string } } = JSON.parse(reply.body);
  return request.status.token;
}
