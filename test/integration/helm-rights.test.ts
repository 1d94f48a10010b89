/** The Helm chart grants Stonegate what `stonegate manifests rbac` prints for the same configuration. */
import t, { type Test } from 'tap';
import { manifests } from '../../src/cli/manifests.ts';
import { configurationOf, find, type ManifestObject, objectsOf, render, SAMPLES } from '../support/chart.ts';
import { helm, missing } from '../support/kubernetes/programs.ts';
import { printedIO } from '../support/printed-io.ts';

const skip = missing(helm());

/** The objects of `stonegate manifests rbac` for the rendered configuration. */
async function printedRBAC(
  objects: readonly ManifestObject[],
  ...options: string[]
): Promise<ManifestObject[]> {
  const { io, printed } = printedIO();
  const argv = ['rbac', '--config', '/etc/stonegate/stonegate.yaml', ...options];
  const sources = { readFile: async () => Buffer.from(configurationOf(objects)), env: {} };
  if ((await manifests(argv, io, sources)) !== 0) throw new Error(printed.stderr);
  return objectsOf(printed.stdout).filter(({ apiVersion }) => apiVersion.startsWith('rbac'));
}

/** Each right on its own, since rules can be cut in several ways. */
function rightsIn(rules: unknown): string[] {
  if (!Array.isArray(rules)) throw new TypeError('no rules');
  const each = rules.flatMap(
    ({ apiGroups = [], resources = [], resourceNames = ['*'], nonResourceURLs = [], verbs }) => [
      ...combined([apiGroups, resources, resourceNames, verbs]),
      ...combined([nonResourceURLs, verbs]),
    ],
  );
  return [...new Set(each)].sort();
}

function combined(parts: readonly (readonly string[])[]): string[] {
  return parts.reduce<string[]>(
    (all, values) => all.flatMap((right) => values.map((value) => `${right} ${value}`)),
    [''],
  );
}

/** Without the name: the chart names these objects by release, `manifests rbac` by account. */
const rightsOf = (objects: readonly ManifestObject[]) =>
  objects
    .filter(({ apiVersion }) => apiVersion.startsWith('rbac'))
    .map(({ kind, metadata: { namespace }, rules, subjects }) => ({
      kind,
      namespace,
      rights: rules === undefined ? [] : rightsIn(rules),
      subjects,
    }))
    .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));

const ACCOUNT = ['--service-account', 'stonegate/stonegate'];
const PROVISIONER = ['--service-account', 'stonegate/stonegate-provisioner', '--provisioner'];

t.test('the samples grant what stonegate manifests rbac prints', { skip }, async (t) => {
  for (const [name, file] of SAMPLES) {
    const objects = render(t.testdir(), file, '--set', 'rbac.create=true,rbac.user=');
    const arktos = name === 'arktos';
    const provisions = objects.some(({ metadata }) => metadata.name === 'stonegate:stonegate-provisioner');
    const account = file.includes('existing-secrets') ? ['--service-account', 'stonegate/default'] : ACCOUNT;
    const printed = [
      ...(await printedRBAC(objects, ...(arktos ? ['--user', 'stonegate'] : account))),
      ...(provisions ? await printedRBAC(objects, ...PROVISIONER) : []),
    ];
    t.same(rightsOf(objects), rightsOf(printed), name);
  }
});

/** In arktos mode the chart wants a client certificate. */
const UPSTREAM = { existingSecret: 'stonegate-upstream' };
const KEYSTONE = { keystone: { url: 'https://keystone.example.com/v3' } };
const TOKENS = { tokenFile: { file: '/run/stonegate/files/users/tokens.csv' } };

t.test(
  'every combination of what rights depend on grants what stonegate manifests rbac prints',
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
              t.same(rightsOf(objects), rightsOf(printed), JSON.stringify({ configuration, constrained }));
            }
  },
);

const GRANTABLE = [
  { apiGroups: ['example.com', 'tenancy.stonegate.dev'], resources: ['widgets'], verbs: ['get'] },
];

/** The chart's ClusterRole has the rights of the printed one. */
async function grantsAsPrinted(t: Test, name: string, configuration: object, ...options: string[]) {
  const objects = render(t.testdir(), { configuration, upstream: UPSTREAM });
  const [printed] = await printedRBAC(objects, ...options);
  t.same(
    rightsIn(find(objects, 'ClusterRole', name).rules),
    rightsIn(printed?.rules),
    JSON.stringify(configuration),
  );
}

t.test('provisioning is granted what stonegate manifests rbac --provisioner prints', { skip }, async (t) => {
  const some = {
    member: { clusterRole: 'stonegate:edit' },
    admin: { clusterRole: 'admin' },
    guest: { role: 'guest' },
  };
  const applicationCredential = { id: 'abc', secret: { fromEnv: 'KEYSTONE_SECRET' } };
  const authentication = { keystone: { ...KEYSTONE.keystone, serviceCredential: { applicationCredential } } };
  for (const mode of ['shared', 'arktos'])
    for (const createRoles of [true, false])
      for (const roles of [
        {},
        { roles: {} },
        { roles: some, projects: { abc: { roles: { cook: 'kitchen' } } } },
      ]) {
        const bindings = { provision: 'onRequest', createRoles, ...roles };
        const configuration = { tenancy: { mode }, authentication, bindings };
        await grantsAsPrinted(t, 'stonegate:stonegate-provisioner', configuration, ...PROVISIONER);
      }
});

t.test('policies are granted what stonegate manifests rbac prints', { skip }, async (t) => {
  const administration = {
    name: 'operators',
    groups: ['keystone:group:operators'],
    tenants: { names: ['*'] },
    clusterRole: 'stonegate:read',
    reason: 'operations',
  };
  for (const authorization of [
    { abacPolicyFile: '/run/stonegate/files/policies/policies.jsonl' },
    { administrations: [administration] },
    { tenantAdministrations: true },
    { crossTenantPolicies: true },
    { crossTenantPolicies: true, tenantAdministrations: true, administrations: [administration] },
  ])
    for (const createRoles of [true, false]) {
      const configuration = {
        tenancy: { mode: 'arktos' },
        authentication: KEYSTONE,
        authorization,
        access: { grantable: GRANTABLE },
        bindings: { createRoles },
      };
      await grantsAsPrinted(t, 'stonegate:stonegate-impersonator', configuration, '--user', 'stonegate');
      await grantsAsPrinted(t, 'stonegate:stonegate-provisioner', configuration, ...PROVISIONER);
    }
});

t.test('publishing is granted what stonegate manifests rbac --provisioner prints', { skip }, async (t) => {
  const namespaces = { namespaces: ['shared'], kinds: ['batch/v1/cronjobs', 'v1/podtemplates'] };
  const clusterScoped = [
    { resource: 'clusterroles', names: 'shared-*' },
    { resource: 'customresourcedefinitions', names: '*.example.com' },
    { resource: 'storage.k8s.io/v1/storageclasses', names: 'fast' },
  ];
  for (const [mode, publishing] of [
    ['shared', namespaces],
    ['shared', { namespaces: ['shared'] }],
    ['arktos', { ...namespaces, clusterScoped }],
    ['arktos', { clusterScoped }],
  ] as const) {
    const access = { grantable: GRANTABLE };
    const configuration = { tenancy: { mode }, authentication: KEYSTONE, access, publishing };
    await grantsAsPrinted(t, 'stonegate:stonegate-provisioner', configuration, ...PROVISIONER);
  }
});

t.test('what Stonegate would refuse to grant is not granted to it', { skip }, async (t) => {
  const grantable = [{ apiGroups: ['example.com'], resources: ['widgets'], verbs: ['escalate'] }];
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
  t.notOk(rightsIn(rules).some((right) => right.includes('escalate')));
});

t.test('what Stonegate would refuse to publish or to grant, Helm refuses', { skip }, async (t) => {
  const namespaces = ['shared'];
  const ofKinds = (kind: string) => ({ publishing: { namespaces, kinds: [kind] } });
  const ofScoped = (mode: string, resource: string) => ({
    tenancy: { mode },
    publishing: { clusterScoped: [{ resource, names: '*' }] },
  });
  const granting = (resource: string) => ({
    access: { grantable: [{ apiGroups: ['example.com'], resources: [resource], verbs: ['get'] }] },
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

t.test('quotas are granted what stonegate manifests rbac prints', { skip }, async (t) => {
  const authentication = KEYSTONE;
  for (const mode of ['shared', 'arktos'])
    for (const count of [[], ['apps/v1/deployments', 'v1/configmaps']]) {
      const quota = { default: { pods: '10' }, count };
      const configuration = { tenancy: { mode }, authentication, quota };
      const account = mode === 'arktos' ? ['--user', 'stonegate'] : ACCOUNT;
      await grantsAsPrinted(t, 'stonegate:stonegate-impersonator', configuration, ...account);
      await grantsAsPrinted(t, 'stonegate:stonegate-provisioner', configuration, ...PROVISIONER);
    }
});
