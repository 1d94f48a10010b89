/**
 * The chart's values: the configuration's own schema under `configuration`, without the fields that the
 * chart fills in, and the values that are usual in charts. The chart's schema and the table of
 * docs/kubernetes.md come from it.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { jsonSchema } from './configuration-reference.ts';

export const CHART_SCHEMA = 'config/charts/stonegate/values.schema.json';
export const CHART_DOCUMENT = 'docs/kubernetes.md';
/** The chart can read only its own files: source → copy. */
export const CHART_COPIES = [
  ['config/alerts/stonegate.yaml', 'config/charts/stonegate/files/alerts.yaml'],
  ['config/dashboards', 'config/charts/stonegate/files/dashboards'],
] as const;
const VALUES = 'config/charts/stonegate/values.yaml';
const BEGIN = '<!-- values: written by npm run schema -->';
const END = '<!-- end of values -->';

const text = z.string();
const count = z.int().min(1);
const texts = z.record(z.string(), z.string());
/** Passed through to Kubernetes, which validates them. */
const object = z.record(z.string(), z.unknown());
const objects = z.array(object);
const port = z.int().min(1).max(65_535);

const service = (of: string) =>
  z
    .strictObject({
      enabled: z.boolean().describe('Whether there is a Service.'),
      type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).describe('Its type.'),
      port: port.describe('Its port.'),
      externalTrafficPolicy: z
        .enum(['', 'Cluster', 'Local'])
        .describe("`Local` preserves clients' addresses (NodePort, LoadBalancer)."),
      annotations: texts.describe('Its annotations.'),
    })
    .describe(of);

const egress = (to: string) =>
  z
    .strictObject({
      to: objects.describe('NetworkPolicy peers; any if empty.'),
      ports: z.array(port).min(1).describe('Ports.'),
    })
    .describe(to);

const SECRET = 'kubernetes.io/tls';

const usual = z.strictObject({
  nameOverride: text.describe("In place of the chart's name in object names and labels."),
  fullnameOverride: text.describe('In place of the name of all objects.'),
  configuration: object,
  image: z
    .strictObject({
      repository: text.min(1).describe('Where the image that you built is.'),
      tag: text.describe("Its tag; the chart's `appVersion` if empty."),
      digest: z
        .string()
        .regex(/^(sha256:[0-9a-f]{64})?$/)
        .describe('`sha256:…`; used instead of the tag.'),
      pullPolicy: z.enum(['IfNotPresent', 'Always', 'Never']).describe('When it is pulled.'),
      pullSecrets: z.array(z.strictObject({ name: text })).describe('Secrets for its registry.'),
    })
    .describe('The image.'),
  replicas: z.int().min(0).describe('Number of pods, unless `autoscaling` is on.'),
  resources: object.describe('Requests and limits. With less than 256Mi of memory a request costs more CPU.'),
  env: objects.describe(
    'Environment variables, for secrets given as `fromEnv`. A change of them needs a restart.',
  ),
  files: z
    .record(
      z
        .string()
        .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
        .max(50),
      z.union([z.strictObject({ secret: text }), z.strictObject({ configMap: text })]),
    )
    .describe('Name → `{ secret }` or `{ configMap }`, mounted as folder `/run/stonegate/files/NAME`.'),
  upstream: z
    .strictObject({
      existingSecret: text.describe(
        'A Secret with `tls.crt`, `tls.key` (a client certificate) and `ca.crt`. If empty, a projected token of the service account.',
      ),
    })
    .describe('The credential at the API server.'),
  tls: z
    .strictObject({
      secretName: text.describe(`The \`${SECRET}\` Secret of the API listener; \`<name>-tls\` if empty.`),
      portalSecretName: text.describe('Of the portal; `<name>-portal-tls` if empty.'),
      webhookSecretName: text.describe('Of the webhook; `<name>-webhook-tls` if empty.'),
      webhookClientCASecretName: text.describe(
        "A Secret with `ca.crt`, the CA of the API servers' client certificates; `<name>-webhook-client-ca` if empty.",
      ),
    })
    .describe('Server certificates. The chart makes none: use cert-manager or `kubectl create secret tls`.'),
  redis: z
    .strictObject({
      enabled: z.boolean().describe('Whether `cache.redis` and `cache.sealingKeys` are configured.'),
      url: text.describe('Its URL, stored in a Secret. With a password, prefer `existingSecret`.'),
      existingSecret: text.describe('A Secret with the URL.'),
      key: text.min(1).describe('The key of the URL in that Secret.'),
    })
    .describe('The shared cache.'),
  sealingKeys: z
    .strictObject({
      existingSecret: text.describe(
        'A Secret with the sealing keys. If empty, the first installation generates them, and upgrades leave them unchanged.',
      ),
      keys: z.array(text.min(1)).min(1).describe('Its keys, the one that encrypts first.'),
    })
    .describe('What encrypts the cache in Redis.'),
  serviceAccount: z
    .strictObject({
      create: z.boolean().describe('Whether it is created.'),
      name: text.describe("Its name, if it is not the release's."),
      annotations: texts.describe('Its annotations.'),
    })
    .describe("The pods' service account."),
  rbac: z
    .strictObject({
      create: z
        .boolean()
        .describe("Whether this cluster's API server is the one that Stonegate is in front of."),
      user: text.describe(
        'The user that the rights are bound to, if the credential is a client certificate: its common name. Arktos: `stonegate` if empty.',
      ),
      constrained: z.boolean().describe('Grant only constrained impersonation (Kubernetes 1.36 or newer).'),
      extraKeys: z
        .array(text)
        .describe('Extra keys of the file that `authentication.configurationFile` names.'),
    })
    .describe('What `stonegate manifests rbac` prints.'),
  service: z
    .strictObject({
      api: service('For clients of the Kubernetes API.'),
      portal: service('For browsers, if `configuration.portal` is set.'),
      webhook: service('For API servers, if `configuration.webhook` is set.'),
      admin: service('Health and metrics over plain HTTP.'),
    })
    .describe('The Services.'),
  podAnnotations: texts.describe('Annotations of the pods.'),
  podLabels: texts.describe('Labels of the pods.'),
  nodeSelector: texts.describe('As in a pod.'),
  tolerations: objects.describe('As in a pod.'),
  affinity: object.describe('As in a pod.'),
  topologySpread: z
    .strictObject({
      enabled: z.boolean().describe('Whether the pods are spread.'),
      topologyKey: text.min(1).describe('Over what.'),
      whenUnsatisfiable: z.enum(['ScheduleAnyway', 'DoNotSchedule']).describe('As in a pod.'),
    })
    .describe('A topology spread constraint.'),
  priorityClassName: text.describe('As in a pod.'),
  podDisruptionBudget: z
    .strictObject({
      enabled: z.boolean().describe('Whether there is one.'),
      maxUnavailable: z.union([count, z.string().regex(/^[0-9]+%$/)]).describe('A number or a percentage.'),
    })
    .describe('The PodDisruptionBudget.'),
  autoscaling: z
    .strictObject({
      enabled: z.boolean().describe('Whether there is one. `replicas` is then ignored.'),
      minReplicas: count.describe('At least so many pods.'),
      maxReplicas: count.describe('At most so many.'),
      cpuUtilization: count.describe('Percent of the requested CPU.'),
      openConnections: z
        .strictObject({
          enabled: z.boolean().describe('Whether open connections of clients count too.'),
          metric: text.min(1).describe('The metric of the custom metrics API.'),
          perPod: count.describe('How many a pod should have.'),
        })
        .describe('Needs an adapter that serves the metric for pods, such as prometheus-adapter.'),
    })
    .describe('The HorizontalPodAutoscaler.'),
  serviceMonitor: z
    .strictObject({
      enabled: z
        .boolean()
        .describe('Whether there is one; needs the Prometheus operator and `service.admin`.'),
      interval: text.min(1).describe('Time between two scrapes.'),
      labels: texts.describe('Labels by which a Prometheus selects it.'),
    })
    .describe('The ServiceMonitor.'),
  prometheusRule: z
    .strictObject({
      enabled: z
        .boolean()
        .describe(
          'Whether there is one, with the alerts of docs/operations.md; needs the Prometheus operator.',
        ),
      labels: texts.describe('Labels by which a Prometheus selects it.'),
    })
    .describe('The PrometheusRule.'),
  dashboards: z
    .strictObject({
      enabled: z.boolean().describe("Whether there is a ConfigMap with Grafana's dashboards."),
      labels: texts.describe("Labels by which Grafana's sidecar selects it."),
    })
    .describe('The dashboards.'),
  networkPolicy: z
    .strictObject({
      enabled: z.boolean().describe('Whether there is one.'),
      ingress: z
        .strictObject({
          api: objects.describe('NetworkPolicy peers that may reach the API listener; any if empty.'),
          portal: objects.describe('The same for the portal.'),
          webhook: objects.describe('The same for the webhook.'),
          admin: objects.describe('The same for health and metrics; the own namespace by default.'),
        })
        .describe('What may reach Stonegate.'),
      egress: z
        .strictObject({
          dns: egress('Name servers, UDP and TCP.'),
          apiServer: egress('The API server.'),
          identityProviders: egress('Keystone and issuers.'),
          redis: egress('Redis, if it is enabled.'),
        })
        .describe('What Stonegate may reach, and nothing else.'),
    })
    .describe('The NetworkPolicy.'),
  global: object.exactOptional().describe('Values of a parent chart; unused.'),
});

interface Node {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
}

/** Filled in by the chart if they are missing: section → fields that are not required there. */
const FILLED_IN: Readonly<Record<string, readonly string[]>> = {
  '': ['apiVersion', 'kind', 'server', 'upstream'],
  server: ['tls'],
  upstream: ['server', 'credential'],
  'cache.redis': ['url'],
  portal: ['tls'],
  webhook: ['tls'],
};

/** The text of values.schema.json. */
export function chartSchema(): string {
  const { $schema, title: _, ...configuration } = withoutRequired(JSON.parse(jsonSchema()), '');
  // An installation without any source of users would never become ready.
  const authentication = { ...configuration.properties?.authentication, minProperties: 1 };
  const { properties, ...rest } = z.toJSONSchema(usual, { io: 'input' });
  const schema = {
    ...rest,
    $schema,
    title: 'Values of the chart stonegate',
    properties: {
      ...properties,
      configuration: {
        description: 'The Stonegate configuration, without what the chart fills in.',
        ...configuration,
        properties: { ...configuration.properties, authentication },
      },
    },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function withoutRequired(node: Node & { $schema?: string; title?: string }, path: string): typeof node {
  const { properties, required, ...rest } = node;
  const remaining = required?.filter((name) => !FILLED_IN[path]?.includes(name)) ?? [];
  const below = Object.entries(properties ?? {}).map(([name, child]) => [
    name,
    withoutRequired(child, path === '' ? name : `${path}.${name}`),
  ]);
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: Object.fromEntries(below) }),
    ...(remaining.length === 0 ? {} : { required: remaining }),
  };
}

/** The document with a new table of the chart's values. */
export function withValuesTable(document: string): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin === -1 || end === -1) throw new Error(`${CHART_DOCUMENT} lacks the markers around its table`);
  const schema: Node = JSON.parse(chartSchema());
  const rows = rowsOf(schema, parse(readFileSync(VALUES, 'utf8')), '');
  const table = ['| value | default | meaning |', '| --- | --- | --- |', ...rows].join('\n');
  return `${document.slice(0, begin)}${BEGIN}\n\n${table}\n\n${document.slice(end)}`;
}

function rowsOf({ properties = {} }: Node, defaults: unknown, path: string): string[] {
  return Object.entries(properties).flatMap(([key, child]) => {
    if (key === 'global') return [];
    const value: unknown = isMapping(defaults) ? defaults[key] : undefined;
    const name = path === '' ? key : `${path}.${key}`;
    if (child.properties !== undefined && key !== 'configuration') return rowsOf(child, value, name);
    if (value === undefined) throw new Error(`${VALUES} has no ${name}`);
    return [`| \`${name}\` | \`${JSON.stringify(value)}\` | ${child.description ?? ''} |`];
  });
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
