/**
 * The Helm chart and the kustomize overlays at a real kube-apiserver: it accepts every manifest, its Pod
 * Security level `restricted` accepts every pod, and secrets that Helm generated survive an upgrade.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { createKubectl, findAllKubectls, type Kubectl, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import {
  CHART,
  type ManifestObject,
  objectsOf,
  podTemplateOf,
  runHelm,
  SAMPLES,
  template,
} from '../support/chart.ts';
import { eventually } from '../support/eventually.ts';
import { startKubernetes } from '../support/kubernetes/api-server.ts';
import { helm, missing, missingKubernetes } from '../support/kubernetes/programs.ts';

const RESTRICTED = 'pod-security.kubernetes.io/enforce';
const binary = findAllKubectls().at(-1);
const skip = missing(helm()) || missingKubernetes() || (binary === undefined && NO_KUBECTL);

type Cluster = Awaited<ReturnType<typeof startCluster>>;

/** The namespace `stonegate` accepts only restricted pods; the kinds of optional objects are installed. */
async function startCluster(t: Test) {
  const kubernetes = await startKubernetes(t);
  const { url: server, authority, admin } = kubernetes;
  const kubectl = createKubectl(t, binary ?? '', { server, ca: authority.cert, ...admin });
  for (const [name, labels] of [
    ['stonegate', { [RESTRICTED]: 'restricted' }],
    ['other', {}],
  ] as const)
    await kubernetes.create('/api/v1/namespaces', { metadata: { name, labels } });
  for (const [file, path] of [
    ['service-monitor-crd.yaml', 'monitoring.coreos.com/v1/servicemonitors'],
    ['prometheus-rule-crd.yaml', 'monitoring.coreos.com/v1/prometheusrules'],
    ['tls-route-crd.yaml', 'gateway.networking.k8s.io/v1/tlsroutes'],
  ] as const) {
    await must(kubectl, ['apply', '-f', join(import.meta.dirname, '../support/kubernetes', file)]);
    await eventually(async () => (await kubernetes.ask(kubernetes.admin, `/apis/${path}`)).status === 200);
  }
  return { kubernetes, kubectl };
}

async function must(kubectl: Kubectl, words: readonly string[], stdin?: string) {
  const { code, stdout, stderr } = await kubectl.run(words, stdin);
  if (code !== 0) throw new Error(`kubectl ${words.join(' ')}: ${stderr}`);
  return stdout;
}

/** Submits the pod that a controller would create for the Deployment, and the pods of the chart itself. */
async function podsAreAccepted({ kubernetes }: Cluster, objects: readonly ManifestObject[]) {
  const { metadata, spec } = podTemplateOf(objects);
  const pods: object[] = [{ metadata: { ...metadata, name: 'stonegate' }, spec }];
  pods.push(...objects.filter(({ kind }) => kind === 'Pod'));
  for (const pod of pods) await kubernetes.create('/api/v1/namespaces/stonegate/pods?dryRun=All', pod);
}

t.test('at a kube-apiserver', { skip }, async (t) => {
  const cluster = await startCluster(t);

  await t.test('every manifest of every sample is accepted, and has no unknown field', async (t) => {
    for (const [name, file] of SAMPLES) {
      const { stdout } = template(t.testdir(), file);
      const words = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
      const printed = await must(cluster.kubectl, words, stdout);
      t.equal(printed.trim().split('\n').length, objectsOf(stdout).length, name);
      await podsAreAccepted(cluster, objectsOf(stdout));
    }
  });

  await t.test('every manifest of every overlay is accepted, and has no unknown field', async (t) => {
    for (const name of ['shared', 'arktos', 'webhook-only']) {
      const overlay = await must(cluster.kubectl, [
        'kustomize',
        join(process.cwd(), 'config/kubernetes/overlays', name),
      ]);
      const words = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
      t.match(await must(cluster.kubectl, words, overlay), 'deployment.apps/stonegate');
      await podsAreAccepted(cluster, objectsOf(overlay));
    }
  });

  await t.test('a pod that is not restricted is refused', async (t) => {
    const containers = [{ name: 'c', image: 'i' }];
    const pod = { metadata: { name: 'p' }, spec: { containers } };
    await t.rejects(
      cluster.kubernetes.create('/api/v1/namespaces/stonegate/pods?dryRun=All', pod),
      /PodSecurity/,
    );
  });

  await t.test('sealing keys are generated once: an upgrade leaves them unchanged', async (t) => {
    const folder = t.testdir();
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, cluster.kubernetes.kubeconfig(cluster.kubernetes.admin));
    const run = (...words: readonly string[]) =>
      runHelm(folder, [...words, '--namespace', 'stonegate', '--kubeconfig', kubeconfig]);
    const values = [
      '--values',
      SAMPLES.get('shared') ?? '',
      '--set',
      'redis.enabled=true,redis.url=redis://127.0.0.1',
    ];
    const sealing = async (): Promise<Readonly<Record<string, string>>> => {
      const path = '/api/v1/namespaces/stonegate/secrets/stonegate-sealing';
      return JSON.parse((await cluster.kubernetes.admit('GET', path)).body).data;
    };

    const installed = run('install', 'stonegate', CHART, ...values);
    t.equal(installed.code, 0, installed.stderr);
    const first = await sealing();
    t.same(Object.keys(first), ['current']);
    const key = Buffer.from(Buffer.from(first.current ?? '', 'base64').toString(), 'base64');
    t.equal(key.length, 32);

    const upgraded = run('upgrade', 'stonegate', CHART, ...values, '--set', 'replicas=3');
    t.equal(upgraded.code, 0, upgraded.stderr);
    t.same(await sealing(), first);

    const rotated = run('upgrade', 'stonegate', CHART, ...values, '--set', 'sealingKeys.keys={next,current}');
    t.equal(rotated.code, 0, rotated.stderr);
    const both = await sealing();
    t.equal(both.current, first.current);
    t.not(both.next, both.current);

    const removed = run('uninstall', 'stonegate');
    t.equal(removed.code, 0, removed.stderr);
  });

  await t.test('what Flux and Argo CD would apply is accepted, and Helm can take it over', async (t) => {
    const folder = t.testdir();
    const values = join(folder, 'values.yaml');
    for (const read of [fluxRelease, argoApplication]) {
      const { release, namespace, chart, values: given } = read();
      t.same({ release, namespace }, { release: 'stonegate', namespace: 'stonegate' });
      t.equal(join(chart), CHART);
      writeFileSync(values, JSON.stringify(given));
      // Neither applies the pod of `helm test`.
      const { stdout } = template(folder, values, '--no-hooks');
      const applied = await must(cluster.kubectl, ['apply', '--server-side', '-f', '-'], stdout);
      t.match(applied, 'deployment.apps/stonegate-admission serverside-applied');
      t.match(applied, 'validatingwebhookconfiguration.admissionregistration.k8s.io/stonegate-quota');
      await podsAreAccepted(cluster, objectsOf(stdout));
    }
    const path = '/apis/tenancy.stonegate.dev/v1alpha1/accesstokens';
    await eventually(
      async () => (await cluster.kubernetes.ask(cluster.kubernetes.admin, path)).status === 200,
    );

    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, cluster.kubernetes.kubeconfig(cluster.kubernetes.admin));
    const release = ['upgrade', '--install', 'stonegate', CHART, '--values', values];
    const words = [...release, '--namespace', 'stonegate', '--kubeconfig', kubeconfig];
    t.match(runHelm(folder, words).stderr, /invalid ownership metadata/);
    const taken = runHelm(folder, [...words, '--take-ownership', '--force-conflicts']);
    t.equal(taken.code, 0, taken.stderr);
    t.match(taken.stdout, 'stonegate kubeconfig --server https://ADDRESS');
    const removed = runHelm(folder, ['uninstall', 'stonegate', ...words.slice(-4)]);
    t.equal(removed.code, 0, removed.stderr);
    const status = (await cluster.kubernetes.ask(cluster.kubernetes.admin, path)).status;
    t.equal(status, 200, 'access tokens outlive the release');
  });
});

interface Release {
  readonly release: string;
  readonly namespace: string;
  readonly chart: string;
  readonly values: unknown;
}

/** What Flux's helm-controller gives to Helm. */
function fluxRelease() {
  const [, document] = parseAllDocuments(readFileSync('config/gitops/flux.yaml', 'utf8'));
  const { spec } = document?.toJS() ?? {};
  const { releaseName: release, targetNamespace: namespace, values } = spec;
  return { release, namespace, chart: spec.chart.spec.chart, values };
}

/** What Argo CD gives to `helm template`. */
function argoApplication(): Release {
  const { source, destination } = parse(readFileSync('config/gitops/argocd.yaml', 'utf8')).spec;
  const { releaseName: release, valuesObject: values } = source.helm;
  return { release, namespace: destination.namespace, chart: source.path, values };
}
