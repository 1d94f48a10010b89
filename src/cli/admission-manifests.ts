/**
 * `stonegate manifests admission`: the ValidatingWebhookConfiguration of the admission webhook and, on an
 * ordinary cluster, the Deployment of its own process. Only kinds about which the webhook decides are
 * registered: what is registered cannot be written while no instance responds.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-configuration
 */
import { resolve } from 'node:path';
import { stringify } from 'yaml';
import type { AdmissionConfiguration, AdmissionProcessConfiguration } from '../api/config-v1alpha1.ts';
import type { LoadSources } from '../config/load.ts';
import { readAdmissionConfiguration } from '../config/load-admission.ts';
import { formatProblem } from '../config/problem.ts';
import { reasonOf } from '../lib/file-errors.ts';
import { certificateBlocks } from '../lib/transport-security.ts';
import { type CommandIO, EXIT, refuseWords, runCommand, UsageError } from './command.ts';

const USAGE = `Usage: stonegate manifests admission --config FILE --ca-file FILE [--url URL | --namespace NAMESPACE]

Prints the ValidatingWebhookConfiguration of the admission webhook and, without --url, the Deployment and the
Service of a process that serves only it, for: kubectl apply -f -

  --config FILE       the configuration; only tenancy and admission are read
  --ca-file FILE      the CA of the webhook's certificate, PEM
  --url URL           where API servers reach the webhook, outside the cluster (required in arktos mode)
  --namespace NAME    where it runs in the cluster (stonegate)
  --help              this text

Exit codes: 0 fine, 1 the configuration is not good, 2 wrong usage.
`;

const OPTIONS = {
  config: { type: 'string' },
  'ca-file': { type: 'string' },
  url: { type: 'string' },
  namespace: { type: 'string' },
} as const;

interface Rule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly ['*'];
  readonly resources: readonly string[];
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
}

type Mode = AdmissionProcessConfiguration['tenancy']['mode'];

/** @param argv what follows `manifests admission` */
export function admissionManifests(
  argv: readonly string[],
  io: CommandIO,
  sources: LoadSources,
): Promise<number> {
  return runCommand({ usage: USAGE, options: OPTIONS, argv, io }, async (values, positionals) => {
    const { config, 'ca-file': caFile, url, namespace = 'stonegate' } = values;
    refuseWords(positionals);
    if (config === undefined || caFile === undefined)
      throw new UsageError('--config FILE and --ca-file FILE are required');
    if (url !== undefined && !/^https:\/\/[^/?#]+$/.test(url))
      throw new UsageError('--url expects an address such as https://stonegate.example.com:8446');
    const { configuration, problems } = await readAdmissionConfiguration(config, sources);
    for (const problem of problems) io.stderr(`${formatProblem(problem)}\n`);
    if (configuration === undefined || problems.length > 0) return EXIT.failed;
    if (url === undefined && configuration.tenancy.mode === 'arktos')
      throw new UsageError(
        '--url is required in arktos mode: the webhook runs outside the cluster or as static pods',
      );
    const ca = await authorityOf(caFile, io, sources);
    if (ca === undefined) return EXIT.failed;
    const place = url === undefined ? { namespace } : { url, namespace };
    const documents = [
      ...(url === undefined ? deploymentOf(configuration.admission, namespace) : []),
      webhookConfiguration(configuration, ca, place),
    ];
    io.stdout(documents.map((document) => stringify(document, { lineWidth: 0 })).join('---\n'));
    return EXIT.fine;
  });
}

async function authorityOf(file: string, io: CommandIO, sources: LoadSources): Promise<string | undefined> {
  try {
    const content = await sources.readFile(resolve(file));
    if (certificateBlocks(content).length > 0) return content.toString('base64');
    io.stderr(`stonegate manifests: --ca-file: ${file} holds no certificate\n`);
  } catch (error) {
    io.stderr(`stonegate manifests: --ca-file: ${reasonOf(error)}: ${file}\n`);
  }
  return undefined;
}

interface Place {
  readonly url?: string;
  readonly namespace: string;
}

function webhookConfiguration(
  { admission, tenancy: { mode } }: AdmissionProcessConfiguration,
  caBundle: string,
  { url, namespace }: Place,
): object {
  const service = { namespace, name: 'stonegate-admission', path: '/admission', port: 443 };
  const webhook = (name: string, rules: readonly Rule[], selector: object = {}) => ({
    name: `${name}.admission.stonegate.dev`,
    clientConfig: { ...(url === undefined ? { service } : { url: `${url}/admission` }), caBundle },
    rules,
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    sideEffects: 'None',
    timeoutSeconds: 5,
    admissionReviewVersions: ['v1', 'v1beta1'],
    ...selector,
  });
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'stonegate-admission' },
    webhooks:
      mode === 'arktos'
        ? // Arktos reads a namespace's labels in the system tenant, so there is no selector.
          [webhook('tenants', [...clusterRules(mode), ...namespacedRules(admission, mode)])]
        : [
            webhook('cluster', clusterRules(mode), { matchConditions: TENANTS_USERS }),
            webhook('objects', namespacedRules(admission, mode), {
              matchConditions: TENANTS_USERS,
              namespaceSelector: exceptIn(['kube-system', namespace]),
            }),
          ],
  };
}

/** All others are allowed in any case: so the cluster's own components never depend on the webhook. */
const TENANTS_USERS = [
  {
    name: 'users-of-tenants',
    expression:
      '(has(request.userInfo.groups) && request.userInfo.groups.exists(g, g.startsWith("stonegate:tenant:"))) || (request.userInfo.username.startsWith("system:serviceaccount:") && !request.userInfo.username.startsWith("system:serviceaccount:kube-system:"))',
  },
];

function exceptIn(namespaces: readonly string[]): object {
  const expression = { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: namespaces };
  return { matchExpressions: [expression] };
}

const WRITES = ['CREATE', 'UPDATE'] as const;
const CHANGES = [...WRITES, 'DELETE'] as const;

function rule(group: string, resources: readonly string[], operations: Rule['operations']): Rule {
  return { apiGroups: [group], apiVersions: ['*'], resources, operations };
}

/** Of no namespace, and namespaces themselves. */
function clusterRules(mode: Mode): Rule[] {
  return [
    rule('', ['namespaces', 'namespaces/status', 'namespaces/finalize'], CHANGES),
    rule('', mode === 'arktos' ? ['nodes', 'tenants'] : ['nodes'], CHANGES),
    rule('', ['persistentvolumes'], WRITES),
    rule('apiextensions.k8s.io', ['customresourcedefinitions'], WRITES),
    rule('rbac.authorization.k8s.io', ['clusterroles', 'clusterrolebindings'], CHANGES),
  ];
}

function namespacedRules({ systemKinds }: AdmissionConfiguration, mode: Mode): Rule[] {
  const workloads = ['deployments', 'replicasets', 'daemonsets'];
  return [
    rule('', ['pods', 'pods/ephemeralcontainers', 'pods/resize'], WRITES),
    rule('', ['pods/binding', 'bindings'], ['CREATE']),
    rule('', ['podtemplates', 'replicationcontrollers'], WRITES),
    rule('apps', [...workloads, 'statefulsets'], WRITES),
    ...(mode === 'arktos' ? [rule('extensions', workloads, WRITES)] : []),
    rule('batch', ['jobs', 'cronjobs'], WRITES),
    rule('rbac.authorization.k8s.io', ['roles', 'rolebindings'], CHANGES),
    ...systemKinds.map((kind) => {
      const [resource = '', ...group] = kind.split('.');
      return rule(group.join('.'), [resource], WRITES);
    }),
  ];
}

function deploymentOf({ bind }: AdmissionConfiguration, namespace: string): object[] {
  const name = 'stonegate-admission';
  const labels = { 'app.kubernetes.io/name': name, 'app.kubernetes.io/instance': 'stonegate' };
  const metadata = { namespace, name, labels };
  const containerPort = Number(bind.slice(bind.lastIndexOf(':') + 1));
  const mount = (volume: string, mountPath: string) => ({ name: volume, mountPath, readOnly: true });
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: false },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: labels, ports: [{ name: 'https', port: 443, targetPort: 'https' }] },
    },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata,
      spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas: 2,
        strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: name,
            automountServiceAccountToken: false,
            enableServiceLinks: false,
            priorityClassName: 'system-cluster-critical',
            securityContext: {
              runAsNonRoot: true,
              runAsUser: 65_532,
              runAsGroup: 65_532,
              fsGroup: 65_532,
              seccompProfile: { type: 'RuntimeDefault' },
            },
            containers: [
              {
                name: 'stonegate',
                image: 'stonegate:0.1.0',
                args: ['serve', '--only', 'admission', '--config', '/etc/stonegate/stonegate.yaml'],
                ports: [
                  { name: 'https', containerPort },
                  { name: 'admin', containerPort: 9_090 },
                ],
                securityContext: {
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  capabilities: { drop: ['ALL'] },
                },
                livenessProbe: { httpGet: { path: '/livez', port: 'admin' } },
                readinessProbe: { httpGet: { path: '/readyz', port: 'admin' } },
                resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '384Mi' } },
                volumeMounts: [
                  mount('configuration', '/etc/stonegate'),
                  mount('tls', '/run/stonegate/admission-tls'),
                ],
              },
            ],
            volumes: [
              { name: 'configuration', configMap: { name } },
              { name: 'tls', secret: { secretName: `${name}-tls`, defaultMode: 288 } },
            ],
          },
        },
      },
    },
  ];
}
