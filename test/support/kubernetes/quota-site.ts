/**
 * A real kube-apiserver whose tenants have quotas. Stonegate in front of it counts usage and serves the
 * admission webhook, with the rights and the registration that `stonegate manifests` prints.
 */
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { configureAdmissionWebhook, startAdmissionWebhook } from '../admission-webhook.ts';
import { isObject } from '../apiserver/json.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import type { Ask } from '../https-client.ts';
import { printedManifests } from '../manifests.ts';
import { type RunningStonegate, serveTestbed } from '../stonegate.ts';
import type { Testbed } from '../testbed.ts';
import { createAuthority } from '../tls/authority.ts';
import type { Kubernetes, KubernetesOptions } from './api-server.ts';
import { addProvisioner, apply, prepareKubernetesSite } from './site.ts';

export interface StoredQuota {
  readonly spec: { readonly hard: Readonly<Record<string, string>> };
  readonly status?: {
    readonly used?: Readonly<Record<string, string>>;
    /** A line for each reservation. */
    readonly ledger?: string;
    readonly summary?: string;
  };
}

export interface QuotaSite extends ReturnType<typeof siteOf> {
  readonly testbed: Testbed;
  readonly stonegate: RunningStonegate;
}

export interface QuotaSiteOptions extends KubernetesOptions {
  readonly quota?: object;
  readonly usage?: object;
  /** With 2, objects with the label `replica: "1"` are reviewed by a process that serves only the webhook. */
  readonly replicas?: 1 | 2;
  readonly keystoneConfiguration?: object;
  /** Called before Stonegate starts. */
  readonly prepare?: (testbed: Testbed) => Promise<void>;
}

export const QUOTAS = '/apis/tenancy.stonegate.dev/v1alpha1/namespaces/stonegate/tenantquotas';
const REGISTRATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
export const MERGE_PATCH = 'application/merge-patch+json';

/** A site without Stonegate itself. */
export interface PreparedQuotaSite extends Omit<QuotaSite, 'stonegate'> {
  readonly webhook: Webhook;
}

/** kube-apiserver ends with the test; the caller closes the testbed. */
export async function prepareQuotaSite(
  t: Pick<Test, 'testdir' | 'teardown'>,
  { quota, usage, ...options }: Omit<QuotaSiteOptions, 'replicas' | 'prepare'> = {},
): Promise<PreparedQuotaSite> {
  const authority = await createAuthority('admission CA');
  const served = await authority.server('stonegate');
  const port = await freePort();
  const { kubernetes, testbed } = await prepareKubernetesSite(t, {
    ...options,
    stonegateFiles: { 'hook.crt': served.cert, 'hook.key': served.key, 'hook-ca.crt': authority.cert },
    configuration: {
      bindings: { credential: { tokenFile: 'provisioner-token' } },
      admission: { bind: `127.0.0.1:${port}`, tls: { certFile: 'hook.crt', keyFile: 'hook.key' } },
      quota: { default: { pods: '10' }, ...quota },
      ...(usage && { usage }),
    },
  });
  const { configFile } = testbed;
  const file = (name: string) => join(dirname(configFile), name);
  await addProvisioner(kubernetes, configFile);
  return { ...siteOf(kubernetes), testbed, webhook: { configFile, caFile: file('hook-ca.crt'), port } };
}

/** Everything ends with the test. */
export async function startQuotaSite(
  t: Pick<Test, 'testdir' | 'teardown'>,
  { replicas = 1, prepare, ...options }: QuotaSiteOptions = {},
): Promise<QuotaSite> {
  const { webhook, ...site } = await prepareQuotaSite(t, options);
  const { kubernetes, testbed } = site;
  await prepare?.(testbed);
  const stonegate = await serveTestbed(t, testbed);
  if (replicas === 1) await register(kubernetes, webhook);
  else {
    const quota = { default: { pods: '10' }, ...options.quota };
    await register(kubernetes, webhook, '0');
    const second = await secondReplica(kubernetes, quota);
    await register(kubernetes, await startAdmissionWebhook(t, 'shared', {}, second), '1');
  }
  return { ...site, stonegate };
}

export interface Webhook {
  readonly configFile: string;
  readonly caFile: string;
  readonly port: number;
}

/**
 * Applies what `stonegate manifests admission` prints.
 *
 * @param replica the label of the objects that it reviews; by default all objects
 */
export async function register(
  kubernetes: Kubernetes,
  { configFile, caFile, port }: Webhook,
  replica?: string,
) {
  const words = ['--config', configFile, '--ca-file', caFile, '--url', `https://127.0.0.1:${port}`];
  for (const object of await printedManifests('admission', ...words)) {
    const { kind, metadata, webhooks } = object;
    const { name } = isObject(metadata) ? metadata : {};
    if (kind !== 'ValidatingWebhookConfiguration') await apply(kubernetes, object);
    else if (replica === undefined) await kubernetes.create(REGISTRATIONS, object);
    else if (name === 'stonegate-quota' && Array.isArray(webhooks))
      await kubernetes.create(REGISTRATIONS, {
        ...object,
        metadata: { name: `${name}-${replica}` },
        webhooks: webhooks
          .filter(isObject)
          .map((webhook) => ({ ...webhook, objectSelector: { matchLabels: { replica } } })),
      });
  }
}

/** With the rights that the command prints for a process that serves only the webhook. */
async function secondReplica(kubernetes: Kubernetes, quota: object) {
  const { certificate } = await kubernetes.user('stonegate-admission');
  if (certificate === undefined) throw new TypeError('the user has no certificate');
  const files = {
    'kubernetes.crt': kubernetes.authority.cert,
    'user.crt': certificate.cert,
    'user.key': certificate.key,
  };
  const credential = { certFile: 'user.crt', keyFile: 'user.key' };
  return { files, quota, upstream: { server: kubernetes.url, caFile: 'kubernetes.crt', credential } };
}

/** Writes the configuration of a second process, which serves only the webhook. */
export async function configureSecond(
  t: Pick<Test, 'testdir'>,
  kubernetes: Kubernetes,
  quota: object,
): Promise<Webhook> {
  const admin = { bind: '127.0.0.1:0' };
  return configureAdmissionWebhook(t, 'shared', {}, { ...(await secondReplica(kubernetes, quota)), admin });
}

function siteOf(kubernetes: Kubernetes) {
  const site = {
    kubernetes,
    /** Creates a namespace of the tenant. */
    async namespace(name: string, tenant: string) {
      const labels = { 'stonegate.dev/tenant': tenant, 'stonegate.dev/project-id': `id-of-${name}` };
      await kubernetes.create('/api/v1/namespaces', { metadata: { name, labels } });
    },
    /** Sends a request as the administrator and returns any response. */
    send(method: string, path: string, object?: object, type = 'application/json') {
      const options: Ask = { method, headers: { 'content-type': type } };
      const body = object === undefined ? {} : { body: JSON.stringify(object) };
      return kubernetes.ask(kubernetes.admin, path, { ...options, ...body });
    },
    async quota(tenant: string): Promise<StoredQuota | undefined> {
      const reply = await kubernetes.ask(kubernetes.admin, `${QUOTAS}/${tenant}`);
      return reply.status === 200 ? JSON.parse(reply.body) : undefined;
    },
    /** Sets the quota of the tenant, and waits until its usage has been counted. */
    async limit(tenant: string, hard: Readonly<Record<string, string>>) {
      await eventually(async () => (await site.quota(tenant)) !== undefined);
      const { spec } = (await site.quota(tenant)) ?? { spec: { hard: {} } };
      const removed = Object.fromEntries(Object.keys(spec.hard).map((name) => [name, null]));
      const patch = { spec: { hard: { ...removed, ...hard } } };
      const { status, body } = await site.send('PATCH', `${QUOTAS}/${tenant}`, patch, MERGE_PATCH);
      if (status !== 200) throw new Error(body);
      await eventually(async () => {
        const used = Object.keys((await site.quota(tenant))?.status?.used ?? {});
        return used.sort().join() === Object.keys(hard).sort().join();
      });
    },
    /** Resolves when the counted usage of the tenant equals `used`. */
    async uses(tenant: string, used: Readonly<Record<string, string>>) {
      await eventually(async () => {
        const { status } = (await site.quota(tenant)) ?? {};
        return (
          JSON.stringify(Object.entries(status?.used ?? {}).sort()) ===
          JSON.stringify(Object.entries(used).sort())
        );
      });
    },
  };
  return site;
}
