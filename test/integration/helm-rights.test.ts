/** The Helm chart has the rules that `stonegate manifests rbac` prints for the same configuration. */
import t from 'tap';
import { manifests } from '../../src/app/commands/manifests.ts';
import { configurationOf, find, type ManifestObject, objectsOf, render, SAMPLES } from '../support/chart.ts';
import { helm, missing } from '../support/kubernetes/programs.ts';
import { rule } from '../support/policy-rule.ts';
import { printedIO } from '../support/printed-io.ts';

const skip = missing(helm());

/** The objects of `stonegate manifests rbac` for the rendered configuration. */
async function printedRBAC(objects: readonly ManifestObject[], ...options: string[]) {
  const { io, printed } = printedIO();
  const argv = ['rbac', '--config', '/etc/stonegate/stonegate.yaml', ...options];
  const sources = { readFile: async () => Buffer.from(configurationOf(objects)), env: {} };
  if ((await manifests(argv, io, sources)) !== 0) throw new Error(printed.stderr);
  return objectsOf(printed.stdout).filter(({ apiVersion }) => apiVersion.startsWith('rbac'));
}

/** Without the name: the chart names these objects by release, `manifests rbac` by account. */
const rulesOf = (objects: readonly ManifestObject[]) =>
  objects
    .filter(({ apiVersion }) => apiVersion.startsWith('rbac'))
    .map(({ kind, metadata: { namespace }, rules, subjects }) => ({
      kind,
      namespace,
      rules,
      subjects,
    }))
    .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));

const ACCOUNT = ['--service-account', 'stonegate/stonegate'];
const PROVISIONER = ['--service-account', 'stonegate/stonegate-provisioner', '--provisioner'];

t.test('the samples grant what stonegate manifests rbac prints', { skip }, async (t) => {
  for (const [name, file] of SAMPLES) {
    const all = render(t.testdir(), file, '--set', 'rbac.create=true,rbac.user=,rbac.memberRoles=false');
    // The rights of the admission webhook are those of `manifests admission`.
    const objects = all.filter(({ metadata }) => !metadata.name.startsWith('stonegate-admission'));
    const arktos = name === 'arktos';
    const provisions = objects.some(({ metadata }) => metadata.name === 'stonegate:stonegate-provisioner');
    const account = file.includes('existing-secrets') ? ['--service-account', 'stonegate/default'] : ACCOUNT;
    const printed = [
      ...(await printedRBAC(objects, ...(arktos ? ['--user', 'stonegate'] : account))),
      ...(provisions ? await printedRBAC(objects, ...PROVISIONER) : []),
    ];
    t.same(rulesOf(objects), rulesOf(printed), name);
  }
});

/** In arktos mode the chart requires a client certificate. */
const UPSTREAM = { existingSecret: 'stonegate-upstream' };
const KEYSTONE = { keystone: { url: 'https://keystone.example.com/v3' } };
const TOKENS = { tokenFile: { file: '/run/stonegate/files/users/tokens.csv' } };

t.test(
  'every combination of settings that affect rights grants what stonegate manifests rbac prints',
  { skip },
  async (t) => {
    for (const mode of ['shared', 'arktos'])
      for (const source of [KEYSTONE, TOKENS])
        for (const tokenReview of [{}, { tokenReview: { tenant: 'acme' } }])
          for (const index of [false, true])
            for (const constrained of mode === 'shared' ? [false, true] : [false]) {
              const authentication = { ...source, ...tokenReview, impersonationExtraKeys: ['example.com/a'] };
              const configuration = { tenancy: { mode }, authentication, access: { index } };
              const objects = render(t.testdir(), {
                configuration,
                upstream: UPSTREAM,
                rbac: { constrained },
              });
              const account = mode === 'arktos' ? ['--user', 'stonegate'] : ACCOUNT;
              const printed = await printedRBAC(
                objects,
                ...account,
                ...(constrained ? ['--constrained'] : []),
              );
              t.same(rulesOf(objects), rulesOf(printed), JSON.stringify({ configuration, constrained }));
            }
  },
);

const GRANTABLE = [rule('get', 'widgets', 'example.com,tenancy.stonegate.dev')];

const administration = {
  name: 'operators',
  groups: ['keystone:group:operators'],
  tenants: { names: ['*'] },
  clusterRole: 'stonegate:read',
  reason: 'operations',
};
const applicationCredential = { id: 'abc', secret: { fromEnv: 'KEYSTONE_SECRET' } };
const SERVICE = { keystone: { ...KEYSTONE.keystone, serviceCredential: { applicationCredential } } };
const access = { grantable: GRANTABLE };
const keystoneLimits = { service: 'nova', resources: { pods: 'pods' } };
const kinds = ['batch/v1/cronjobs', 'v1/podtemplates'];
const clusterScoped = [
  { resource: 'clusterroles', names: 'shared-*' },
  { resource: 'customresourcedefinitions', names: '*.example.com' },
  { resource: 'storage.k8s.io/v1/storageclasses', names: 'fast' },
];
const roles = {
  member: { clusterRole: 'stonegate:edit' },
  admin: { clusterRole: 'admin' },
  guest: { role: 'guest' },
};

/** Sections by which features get rights, with the modes in which they can be used. */
const FEATURES = [
  ...[{}, { roles: {} }, { roles, projects: { abc: { roles: { cook: 'kitchen' } } } }].flatMap((given) =>
    [true, false].map((createRoles) => {
      const bindings = { provision: 'onRequest', createRoles, ...given };
      return [['shared', 'arktos'], { authentication: SERVICE, bindings }] as const;
    }),
  ),
  ...[
    { abacPolicyFile: '/run/stonegate/files/policies/policies.jsonl' },
    { administrations: [administration] },
    { tenantAdministrations: true },
    { crossTenantPolicies: true },
    { crossTenantPolicies: true, tenantAdministrations: true, administrations: [administration] },
  ].flatMap((authorization) =>
    [true, false].map(
      (createRoles) => [['arktos'], { authorization, access, bindings: { createRoles } }] as const,
    ),
  ),
  [['shared'], { access, publishing: { namespaces: ['shared'], kinds } }],
  [['shared'], { access, publishing: { namespaces: ['shared'] } }],
  [['arktos'], { access, publishing: { namespaces: ['shared'], kinds, clusterScoped } }],
  [['arktos'], { access, publishing: { clusterScoped } }],
  ...[[], ['apps/v1/deployments', 'v1/configmaps']].map(
    (count) => [['shared', 'arktos'], { quota: { default: { pods: '10' }, count } }] as const,
  ),
  [['shared', 'arktos'], { tokens: {}, members: {}, access: { index: true } }],
  [['shared', 'arktos'], { authentication: SERVICE, quota: { default: { pods: '10' }, keystoneLimits } }],
  [
    ['shared', 'arktos'],
    {
      quota: { default: { pods: '10' }, count: ['example.com/v1/widgets'] },
      bindings: { createRoles: false },
    },
  ],
] as const;

t.test('features are granted what stonegate manifests rbac prints for them', { skip }, async (t) => {
  for (const [modes, sections] of FEATURES)
    for (const mode of modes) {
      const configuration = { tenancy: { mode }, authentication: KEYSTONE, ...sections };
      const objects = render(t.testdir(), { configuration, upstream: UPSTREAM });
      const account = mode === 'arktos' ? ['--user', 'stonegate'] : ACCOUNT;
      for (const [name, options] of [
        ['impersonator', account],
        ['provisioner', PROVISIONER],
      ] as const) {
        const [printed] = await printedRBAC(objects, ...options);
        const { rules } = find(objects, 'ClusterRole', `stonegate:stonegate-${name}`);
        t.same(rules, printed?.rules, `${name}: ${JSON.stringify(configuration)}`);
      }
    }
});

t.test('Stonegate is not given rights that it would refuse to grant', { skip }, async (t) => {
  const grantable = [rule('escalate', 'widgets', 'example.com')];
  const objects = render(t.testdir(), {
    upstream: UPSTREAM,
    configuration: {
      tenancy: { mode: 'arktos' },
      authentication: KEYSTONE,
      access: { grantable },
      authorization: { crossTenantPolicies: true },
    },
  });
  const { rules } = find(objects, 'ClusterRole', 'stonegate:stonegate-provisioner');
  t.notMatch(JSON.stringify(rules), 'escalate');
});

t.test('Helm refuses what Stonegate would refuse to publish or to grant', { skip }, async (t) => {
  const namespaces = ['shared'];
  const ofKinds = (kind: string) => ({ publishing: { namespaces, kinds: [kind] } });
  const ofScoped = (mode: string, resource: string) => ({
    tenancy: { mode },
    publishing: { clusterScoped: [{ resource, names: '*' }] },
  });
  const granting = (resource: string) => ({
    access: { grantable: [rule('get', resource, 'example.com')] },
  });
  for (const section of [
    ofKinds('*'),
    ofKinds('clusterroles'),
    ofKinds('*/v1/*'),
    ofKinds('a/b/c/d'),
    ofKinds('batch/v1/CronJobs'),
    ofKinds('v1/nodes'),
    ofKinds('admissionregistration.k8s.io/v1/validatingwebhookconfigurations'),
    ofScoped('arktos', '*'),
    ofScoped('arktos', 'v1/tenants'),
    ofScoped('shared', 'clusterroles'),
    granting('*'),
    granting('widgets/*'),
  ]) {
    const configuration = { tenancy: { mode: 'shared' }, authentication: KEYSTONE, ...section };
    t.throws(
      () => render(t.testdir(), { configuration, upstream: UPSTREAM }),
      /publishing|grantable/,
      JSON.stringify(configuration),
    );
  }
});
