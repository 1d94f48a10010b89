/**
 * The Deployment of the admission webhook as a process of its own, with its Service and disruption budget.
 */
import { parse } from 'yaml';
import type { CoreConfiguration, UpstreamConfiguration } from '../../../config/core-configuration.ts';
import type { AdmissionConfiguration } from '../admission-configuration.ts';

interface Configuration extends Pick<CoreConfiguration, 'admin'> {
  readonly admission: AdmissionConfiguration;
  readonly upstream?: UpstreamConfiguration;
}

/** Readable by the group of `fsGroup`: 0440. */
const MODE = 288;

/** Its files are in the ConfigMap and the Secrets of its name. */
export function admissionDeployment(
  { admission, admin, upstream }: Configuration,
  namespace: string,
): object[] {
  const [mount, volume] = upstream === undefined ? ['', ''] : upstreamFiles(upstream);
  const labels = '{ app.kubernetes.io/name: stonegate-admission, app.kubernetes.io/instance: stonegate }';
  const metadata = `{ namespace: ${JSON.stringify(namespace)}, name: stonegate-admission, labels: ${labels} }`;
  return parse(`
- apiVersion: v1
  kind: ServiceAccount
  metadata: ${metadata}
  automountServiceAccountToken: false
- apiVersion: v1
  kind: Service
  metadata: ${metadata}
  spec:
    selector: ${labels}
    ports: [{ name: https, port: 443, targetPort: https }]
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: ${metadata}
  spec: { maxUnavailable: 1, selector: { matchLabels: ${labels} } }
- apiVersion: apps/v1
  kind: Deployment
  metadata: ${metadata}
  spec:
    replicas: 2
    strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
    selector: { matchLabels: ${labels} }
    template:
      metadata: { labels: ${labels} }
      spec:
        serviceAccountName: stonegate-admission
        automountServiceAccountToken: false
        enableServiceLinks: false
        priorityClassName: system-cluster-critical
        securityContext:
          runAsNonRoot: true
          runAsUser: 65532
          runAsGroup: 65532
          fsGroup: 65532
          seccompProfile: { type: RuntimeDefault }
        containers:
          - name: stonegate
            image: stonegate:0.2.0
            args: [serve, --only, admission, --config, /etc/stonegate/stonegate.yaml]
            ports:
              - { name: https, containerPort: ${portOf(admission.bind)} }
              - { name: admin, containerPort: ${portOf(admin.bind)} }
            securityContext:
              allowPrivilegeEscalation: false
              readOnlyRootFilesystem: true
              capabilities: { drop: [ALL] }
            livenessProbe: { httpGet: { path: /livez, port: admin } }
            readinessProbe: { httpGet: { path: /readyz, port: admin } }
            resources: { requests: { cpu: 50m, memory: 128Mi }, limits: { memory: 384Mi } }
            volumeMounts:
              - { name: configuration, mountPath: /etc/stonegate, readOnly: true }
              - { name: tls, mountPath: /run/stonegate/admission-tls, readOnly: true }
              ${mount}
        volumes:
          - { name: configuration, configMap: { name: stonegate-admission } }
          - { name: tls, secret: { secretName: stonegate-admission-tls, defaultMode: ${MODE} } }
          ${volume}
`);
}

function portOf(bind: string): string {
  return bind.slice(bind.lastIndexOf(':') + 1);
}

/** The service account's token, which is renewed, with the cluster's CA; or a client certificate. */
function upstreamFiles({ credential }: UpstreamConfiguration): [mount: string, volume: string] {
  const source =
    'certFile' in credential
      ? `secret: { secretName: stonegate-admission-upstream, defaultMode: ${MODE} }`
      : `projected: { defaultMode: ${MODE}, sources: [
            { serviceAccountToken: { path: token, expirationSeconds: 3600 } },
            { configMap: { name: kube-root-ca.crt, items: [{ key: ca.crt, path: ca.crt }] } } ] }`;
  return [
    '- { name: upstream, mountPath: /run/stonegate/upstream, readOnly: true }',
    `- { name: upstream, ${source} }`,
  ];
}
