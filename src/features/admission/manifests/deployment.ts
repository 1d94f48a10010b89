/**
 * The Deployment of the admission webhook as a process of its own, with its Service and disruption budget.
 */
import type { CoreConfiguration, UpstreamConfiguration } from '../../../config/core-configuration.ts';
import type { AdmissionConfiguration } from '../admission-configuration.ts';

interface Configuration extends Pick<CoreConfiguration, 'admin'> {
  readonly admission: AdmissionConfiguration;
  readonly upstream?: UpstreamConfiguration;
}

const NAME = 'stonegate-admission';
/** Readable by the group of `fsGroup`: 0440. */
const MODE = 288;

/** Its files are in the ConfigMap and the Secrets of its name. */
export function admissionDeployment(
  { admission, admin, upstream }: Configuration,
  namespace: string,
): object[] {
  const name = NAME;
  const labels = { 'app.kubernetes.io/name': name, 'app.kubernetes.io/instance': 'stonegate' };
  const metadata = { namespace, name, labels };
  const ports = [
    { name: 'https', containerPort: portOf(admission.bind) },
    { name: 'admin', containerPort: portOf(admin.bind) },
  ];
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
          spec: podSpec(ports, upstream),
        },
      },
    },
  ];
}

function portOf(bind: string): number {
  return Number(bind.slice(bind.lastIndexOf(':') + 1));
}

function podSpec(ports: readonly object[], upstream: UpstreamConfiguration | undefined): object {
  const mount = (volume: string, mountPath: string) => ({ name: volume, mountPath, readOnly: true });
  return {
    serviceAccountName: NAME,
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
        image: 'stonegate:0.2.0',
        args: ['serve', '--only', 'admission', '--config', '/etc/stonegate/stonegate.yaml'],
        ports,
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
          ...(upstream === undefined ? [] : [mount('upstream', '/run/stonegate/upstream')]),
        ],
      },
    ],
    volumes: [
      { name: 'configuration', configMap: { name: NAME } },
      { name: 'tls', secret: { secretName: `${NAME}-tls`, defaultMode: MODE } },
      ...(upstream === undefined ? [] : [{ name: 'upstream', ...credentialVolume(upstream) }]),
    ],
  };
}

/** The service account's token, which is renewed, with the cluster's CA; or a client certificate. */
function credentialVolume({ credential }: UpstreamConfiguration): object {
  if ('certFile' in credential) return { secret: { secretName: `${NAME}-upstream`, defaultMode: MODE } };
  const authority = { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] };
  const sources = [
    { serviceAccountToken: { path: 'token', expirationSeconds: 3_600 } },
    { configMap: authority },
  ];
  return { projected: { defaultMode: MODE, sources } };
}
