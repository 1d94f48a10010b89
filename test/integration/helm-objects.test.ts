/**
 * The Helm chart creates what `stonegate manifests crds`, `roles` and `admission` print for the same
 * configuration, and only where its API server is the one that Stonegate is in front of.
 */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { manifests } from '../../src/app/commands/manifests.ts';
import {
  CHART,
  find,
  type ManifestObject,
  objectsOf,
  podTemplateOf,
  render,
  runHelm,
  SAMPLES,
} from '../support/chart.ts';
import { helm, missing } from '../support/kubernetes/programs.ts';
import { printedIO } from '../support/printed-io.ts';
import { createAuthority } from '../support/tls/authority.ts';

const skip = missing(helm());
const AUTHORITY = await createAuthority();

async function printed(...words: readonly string[]) {
  const { io, printed: output } = printedIO();
  if ((await manifests(words, io)) !== 0) throw new Error(output.stderr);
  return objectsOf(output.stdout);
}

/** What `manifests admission` prints for the configuration that the chart gives to the webhook. */
async function printedAdmission(t: Test, objects: readonly ManifestObject[], namespace: string) {
  const configuration = find(objects, 'ConfigMap', 'stonegate-admission').data?.['stonegate.yaml'] ?? '';
  const folder = t.testdir({ 'stonegate.yaml': configuration, 'ca.crt': AUTHORITY.cert });
  const files = ['--config', join(folder, 'stonegate.yaml'), '--ca-file', join(folder, 'ca.crt')];
  return printed('admission', ...files, '--namespace', namespace);
}

/** Without the chart's labels and annotations, and with each right or rule by itself. */
function comparable(objects: readonly ManifestObject[]): unknown {
  const text = JSON.stringify(
    objects.map(({ metadata: { labels: _, annotations: _annotations, ...metadata }, ...object }) => ({
      ...object,
      metadata,
    })),
    (key, value: unknown) => (key === 'rules' && Array.isArray(value) ? each(value) : value),
  );
  const all: ManifestObject[] = JSON.parse(text);
  return all.sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
}

const nameOf = ({ kind, metadata: { name } }: ManifestObject) => `${kind} ${name}`;

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
}

/** The same resources can be split into rules in several ways. */
function each(rules: readonly Rule[]) {
  const single = rules.flatMap(({ apiGroups, resources, ...rest }) =>
    apiGroups.flatMap((group) =>
      resources.map((resource) => `${group} ${resource} ${JSON.stringify(Object.entries(rest).sort())}`),
    ),
  );
  return [...new Set(single)].sort();
}

const KEYSTONE = { keystone: { url: 'https://keystone.example.com/v3' } };
const base = { tenancy: { mode: 'shared' }, authentication: KEYSTONE };
const publishing = {
  namespaces: ['shared'],
  kinds: ['batch/v1/cronjobs', 'v1/podtemplates'],
};
const quota = { default: { pods: '10' }, count: ['apps/v1/deployments', 'v1/configmaps'] };

t.test(
  'with configuration.admission the chart installs what stonegate manifests admission prints',
  { skip },
  async (t) => {
    const systemKinds = ['ingresses.networking.k8s.io', 'resourcequotas'];
    for (const sections of [
      { admission: {} },
      { admission: { systemKinds, bind: '0.0.0.0:9446' }, admin: { bind: '0.0.0.0:9999' } },
      { admission: {}, publishing },
      { admission: { systemKinds }, publishing: { namespaces: ['shared'] } },
      { admission: {}, quota },
      { admission: { systemKinds }, quota, publishing },
    ])
      for (const namespace of ['stonegate', 'infra']) {
        const values = { configuration: { ...base, ...sections }, admission: { caBundle: AUTHORITY.cert } };
        const objects = render(t.testdir(), values, '--namespace', namespace);
        const ofAdmission = objects.filter(
          ({ kind, metadata: { name } }) =>
            kind !== 'ConfigMap' &&
            (/^stonegate-(?:admission|quota)/.test(name) || kind === 'ValidatingWebhookConfiguration'),
        );
        const wanted = await printedAdmission(t, objects, namespace);
        for (const object of ofAdmission)
          for (const container of object.spec?.template?.spec.containers ?? [])
            if ('imagePullPolicy' in container) delete container.imagePullPolicy;
        t.same(comparable(ofAdmission), comparable(wanted), JSON.stringify({ sections, namespace }));
      }
  },
);

t.test("service accounts of the release's namespace belong to no tenant", { skip }, async (t) => {
  const admission = { systemNamespaces: ['argocd'] };
  const values = { configuration: { ...base, admission }, admission: { caBundle: AUTHORITY.cert } };
  const objects = render(t.testdir(), values, '--namespace', 'infra');
  const { data } = find(objects, 'ConfigMap', 'stonegate-admission');
  t.match(parse(data?.['stonegate.yaml'] ?? ''), { admission: { systemNamespaces: ['argocd', 'infra'] } });
});

t.test('cert-manager fills in the CA if an annotation says so', { skip }, async (t) => {
  const objects = render(t.testdir(), SAMPLES.get('admission') ?? '');
  const registrations = objects.filter(({ kind }) => kind === 'ValidatingWebhookConfiguration');
  t.equal(registrations.length, 2);
  for (const { metadata, ...registration } of registrations) {
    t.match(metadata.annotations, { 'cert-manager.io/inject-ca-from': 'stonegate/stonegate-admission' });
    t.notMatch(JSON.stringify(registration), 'caBundle');
  }
});

t.test('the pods of the webhook have the image and the places of the proxy', { skip }, async (t) => {
  const words = [
    '--set',
    'image.repository=registry.example.com/stonegate,image.pullSecrets[0].name=registry',
  ];
  const more = ['--set', 'nodeSelector.disk=ssd,tls.admissionSecretName=issued,admission.replicas=3'];
  const objects = render(t.testdir(), SAMPLES.get('admission') ?? '', ...words, ...more);
  const webhook = find(objects, 'Deployment', 'stonegate-admission');
  const proxy = podTemplateOf(objects);
  t.match(webhook.spec, {
    replicas: 3,
    template: {
      spec: {
        imagePullSecrets: [{ name: 'registry' }],
        nodeSelector: { disk: 'ssd' },
        containers: [{ image: 'registry.example.com/stonegate:0.2.0' }],
      },
    },
  });
  t.match(proxy.spec, { containers: [{ image: 'registry.example.com/stonegate:0.2.0' }] });
  t.match(JSON.stringify(webhook), '"secretName":"issued"');
});

const ofKind = (objects: readonly ManifestObject[], wanted: string) =>
  objects.filter(({ kind, metadata: { name } }) => kind === wanted && !name.includes(':stonegate-'));

t.test(
  'with tokens, members or a quota the chart creates the custom resources, which are never deleted',
  { skip },
  async (t) => {
    const definitions = (await printed('crds', '--mode', 'shared')).map(({ metadata }) => metadata.name);
    for (const [sections, wanted] of [
      [{}, []],
      [{ tokens: {} }, definitions],
      [{ members: {} }, definitions],
      [{ quota }, definitions],
    ] as const) {
      const objects = render(t.testdir(), { configuration: { ...base, ...sections } });
      const created = ofKind(objects, 'CustomResourceDefinition');
      t.same(
        created.map(({ metadata }) => metadata.name),
        wanted,
        JSON.stringify(sections),
      );
      for (const { metadata } of created)
        t.match(metadata.annotations, { 'helm.sh/resource-policy': 'keep' });
    }
    const values = { configuration: { ...base, tokens: {}, members: {} } };
    const all = render(t.testdir(), values);
    t.same(
      comparable(ofKind(all, 'CustomResourceDefinition')),
      comparable(await printed('crds', '--mode', 'shared')),
    );
    t.same(comparable(ofKind(all, 'ClusterRole')), comparable(await printed('roles', '--mode', 'shared')));
    const without = render(t.testdir(), { ...values, crds: { create: false }, rbac: { memberRoles: false } });
    t.same([...ofKind(without, 'CustomResourceDefinition'), ...ofKind(without, 'ClusterRole')], []);
    const credential = { tokenFile: '/run/stonegate/files/provisioner/token' };
    const elsewhere = { configuration: { ...values.configuration, bindings: { credential } } };
    const none = render(t.testdir(), { ...elsewhere, rbac: { create: false } });
    t.same([...ofKind(none, 'CustomResourceDefinition'), ...ofKind(none, 'ClusterRole')], []);
  },
);

t.test('after the installation Helm says what users run, and what is left to apply', { skip }, async (t) => {
  const notesOf = (sample: string, ...words: readonly string[]) => {
    const release = ['install', 'stonegate', CHART, '--namespace', 'stonegate', '--dry-run=client'];
    const file = SAMPLES.get(sample) ?? '';
    const { stdout, stderr } = runHelm(t.testdir(), [...release, '--values', file, ...words]);
    return stdout.split('\nNOTES:\n')[1] ?? stderr;
  };
  t.match(notesOf('everything'), '\n  stonegate kubeconfig --server https://stonegate.example.com\n');
  t.match(notesOf('shared'), '\n  stonegate kubeconfig --server https://ADDRESS\n');
  t.notMatch(notesOf('webhook-only'), 'stonegate kubeconfig', 'users do not reach it');
  t.notMatch(notesOf('admission'), 'stonegate manifests');
  t.match(notesOf('admission', '--set', 'crds.create=false'), 'stonegate manifests crds --mode shared');
  t.match(notesOf('admission', '--set', 'rbac.memberRoles=false'), 'stonegate manifests roles --mode shared');
});
