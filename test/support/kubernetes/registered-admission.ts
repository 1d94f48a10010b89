/**
 * Registers the admission webhook with a real kube-apiserver as `stonegate manifests admission` prints it.
 */
import type { AdmissionWebhook } from '../admission-webhook.ts';
import type { Reply } from '../https-client.ts';
import type { Credential } from '../kubeconfig.ts';
import { printedManifests } from '../manifests.ts';
import type { Kubernetes } from './api-server.ts';

type Write = (credential: Credential, path: string, object: object) => Promise<Reply>;

export type Writes = ReturnType<typeof writesOf>;

export function writesOf(kubernetes: Kubernetes) {
  const write =
    (method: string, type: string): Write =>
    (credential, path, object) => {
      const headers = { 'content-type': type };
      return kubernetes.ask(credential, path, { method, headers, body: JSON.stringify(object) });
    };
  return {
    post: write('POST', 'application/json'),
    patch: write('PATCH', 'application/merge-patch+json'),
    remove: (credential: Credential, path: string) => kubernetes.ask(credential, path, { method: 'DELETE' }),
  };
}

const PATHS: Readonly<Record<string, string>> = {
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  ValidatingWebhookConfiguration: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
};

/** The API server uses the webhook only a moment later. */
export async function registerAdmission(kubernetes: Kubernetes, webhook: AdmissionWebhook) {
  const url = `https://127.0.0.1:${webhook.port}`;
  const words = ['--config', webhook.configFile, '--ca-file', webhook.caFile, '--url', url];
  for (const object of await printedManifests('admission', ...words))
    await kubernetes.create(PATHS[String(object.kind)] ?? '', object);
}
