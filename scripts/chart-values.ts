/**
 * The chart's values: the configuration's own schema under `configuration`, without the fields that the
 * chart fills in, and the values that are usual in charts. The chart's schema and the table of
 * docs/kubernetes.md come from it.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { flag, text, texts } from '../src/kubernetes/kubernetes-schema.ts';
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

const count = z.int().min(1);
const labels = z.record(z.string(), z.string());
/** Passed through to Kubernetes, which validates them. */
const object = z.record(z.string(), z.unknown());
const objects = z.array(object);
const port = z.int().min(1).max(65_535);

const section = <Shape extends z.core.$ZodShape>(description: string, shape: Shape) =>
  z.strictObject(shape).describe(description);

const service = (of: string) =>
  section(of, {
    enabled: flag('Whether there is a Service.'),
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).describe('Its type.'),
    port: port.describe('Its port.'),
    externalTrafficPolicy: z
      .enum(['', 'Cluster', 'Local'])
      .describe("`Local` preserves clients' addresses (NodePort, LoadBalancer)."),
    annotations: labels.describe('Its annotations.'),
  });

const egress = (to: string) =>
  section(to, {
    to: objects.describe('NetworkPolicy peers; any if empty.'),
    ports: z.array(port).min(1).describe('Ports.'),
  });

const SECRET = 'kubernetes.io/tls';

const usual = z.strictObject({
  nameOverride: text("In place of the chart's name in object names and labels."),
  fullnameOverride: text('In place of the name of all objects.'),
  configuration: object,
  image: section('The image.', {
    repository: text('Where the image that you built is.').min(1),
    tag: text("Its tag; the chart's `appVersion` if empty."),
    digest: z
      .string()
      .regex(/^(sha256:[0-9a-f]{64})?$/)
      .describe('`sha256:…`; used instead of the tag.'),
    pullPolicy: z.enum(['IfNotPresent', 'Always', 'Never']).describe('When it is pulled.'),
    pullSecrets: z.array(z.strictObject({ name: z.string() })).describe('Secrets for its registry.'),
  }),
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
      z.union([z.strictObject({ secret: z.string() }), z.strictObject({ configMap: z.string() })]),
    )
    .describe('Name → `{ secret }` or `{ configMap }`, mounted as folder `/run/stonegate/files/NAME`.'),
  upstream: section('The credential at the API server.', {
    existingSecret: text(
      'A Secret with `tls.crt`, `tls.key` (a client certificate) and `ca.crt`. If empty, a projected token of the service account.',
    ),
  }),
  tls: section(
    'Server certificates. The chart makes none: use cert-manager or `kubectl create secret tls`.',
    {
      secretName: text(`The \`${SECRET}\` Secret of the API listener; \`<name>-tls\` if empty.`),
      portalSecretName: text('Of the portal; `<name>-portal-tls` if empty.'),
      webhookSecretName: text('Of the webhook; `<name>-webhook-tls` if empty.'),
      webhookClientCASecretName: text(
        "A Secret with `ca.crt`, the CA of the API servers' client certificates; `<name>-webhook-client-ca` if empty.",
      ),
    },
  ),
  redis: section('The shared cache.', {
    enabled: flag('Whether `cache.redis` and `cache.sealingKeys` are configured.'),
    url: text('Its URL, stored in a Secret. With a password, prefer `existingSecret`.'),
    existingSecret: text('A Secret with the URL.'),
    key: text('The key of the URL in that Secret.').min(1),
  }),
  sealingKeys: section('What encrypts the cache in Redis.', {
    existingSecret: text(
      'A Secret with the sealing keys. If empty, the first installation generates them, and upgrades leave them unchanged.',
    ),
    keys: z.array(z.string().min(1)).min(1).describe('Its keys, the one that encrypts first.'),
  }),
  serviceAccount: section("The pods' service account.", {
    create: flag('Whether it is created.'),
    name: text("Its name, if it is not the release's."),
    annotations: labels.describe('Its annotations.'),
  }),
  rbac: section('What `stonegate manifests rbac` prints.', {
    create: flag("Whether this cluster's API server is the one that Stonegate is in front of."),
    user: text(
      'The user that the rights are bound to, if the credential is a client certificate: its common name. Arktos: `stonegate` if empty.',
    ),
    constrained: flag('Grant only constrained impersonation (Kubernetes 1.36 or newer).'),
    extraKeys: texts('Extra keys of the file that `authentication.configurationFile` names.'),
  }),
  service: section('The Services.', {
    api: service('For clients of the Kubernetes API.'),
    portal: service('For browsers, if `configuration.portal` is set.'),
    webhook: service('For API servers, if `configuration.webhook` is set.'),
    admin: service('Health and metrics over plain HTTP.'),
  }),
  podAnnotations: labels.describe('Annotations of the pods.'),
  podLabels: labels.describe('Labels of the pods.'),
  nodeSelector: labels.describe('As in a pod.'),
  tolerations: objects.describe('As in a pod.'),
  affinity: object.describe('As in a pod.'),
  topologySpread: section('A topology spread constraint.', {
    enabled: flag('Whether the pods are spread.'),
    topologyKey: text('Over what.').min(1),
    whenUnsatisfiable: z.enum(['ScheduleAnyway', 'DoNotSchedule']).describe('As in a pod.'),
  }),
  priorityClassName: text('As in a pod.'),
  podDisruptionBudget: section('The PodDisruptionBudget.', {
    enabled: flag('Whether there is one.'),
    maxUnavailable: z.union([count, z.string().regex(/^[0-9]+%$/)]).describe('A number or a percentage.'),
  }),
  autoscaling: section('The HorizontalPodAutoscaler.', {
    enabled: flag('Whether there is one. `replicas` is then ignored.'),
    minReplicas: count.describe('At least so many pods.'),
    maxReplicas: count.describe('At most so many.'),
    cpuUtilization: count.describe('Percent of the requested CPU.'),
    openConnections: section(
      'Needs an adapter that serves the metric for pods, such as prometheus-adapter.',
      {
        enabled: flag('Whether open connections of clients count too.'),
        metric: text('The metric of the custom metrics API.').min(1),
        perPod: count.describe('How many a pod should have.'),
      },
    ),
  }),
  serviceMonitor: section('The ServiceMonitor.', {
    enabled: flag('Whether there is one; needs the Prometheus operator and `service.admin`.'),
    interval: text('Time between two scrapes.').min(1),
    labels: labels.describe('Labels by which a Prometheus selects it.'),
  }),
  prometheusRule: section('The PrometheusRule.', {
    enabled: flag(
      'Whether there is one, with the alerts of docs/operations.md; needs the Prometheus operator.',
    ),
    labels: labels.describe('Labels by which a Prometheus selects it.'),
  }),
  dashboards: section('The dashboards.', {
    enabled: flag("Whether there is a ConfigMap with Grafana's dashboards."),
    labels: labels.describe("Labels by which Grafana's sidecar selects it."),
  }),
  networkPolicy: section('The NetworkPolicy.', {
    enabled: flag('Whether there is one.'),
    ingress: section('What may reach Stonegate.', {
      api: objects.describe('NetworkPolicy peers that may reach the API listener; any if empty.'),
      portal: objects.describe('The same for the portal.'),
      webhook: objects.describe('The same for the webhook.'),
      admin: objects.describe('The same for health and metrics; the own namespace by default.'),
    }),
    egress: section('What Stonegate may reach, and nothing else.', {
      dns: egress('Name servers, UDP and TCP.'),
      apiServer: egress('The API server.'),
      identityProviders: egress('Keystone and issuers.'),
      redis: egress('Redis, if it is enabled.'),
    }),
  }),
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
