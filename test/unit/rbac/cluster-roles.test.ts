import t from 'tap';
import { CLUSTER_ROLES, TENANT_CLUSTER_ROLES } from '../../../src/rbac/cluster-roles.ts';

/** Each single right that a role allows, as `verb group/resource`. */
function allowed(name: string) {
  const rules = CLUSTER_ROLES.get(name) ?? [];
  return new Set(
    rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
      verbs.flatMap((verb) =>
        apiGroups.flatMap((group) => resources.map((resource) => `${verb} ${group}/${resource}`)),
      ),
    ),
  );
}

const [read, control, edit, manage] = ['read', 'control', 'edit', 'manage'].map((name) =>
  allowed(`stonegate:${name}`),
);

t.test('a higher role contains the lower ones, and more', async (t) => {
  for (const [lower, higher] of [
    [read, control],
    [control, edit],
    [edit, manage],
  ])
    t.ok(lower && higher && [...lower].every((one) => higher.has(one)) && lower.size < higher.size);
});

t.test(
  'the control role allows access into pods, scaling and restarts, but no change of definitions',
  async (t) => {
    for (const one of ['create /pods/exec', 'get /pods/exec', 'delete /pods', 'patch apps/deployments/scale'])
      t.ok(control?.has(one), one);
    for (const one of [
      'patch apps/deployments',
      'create /pods',
      'get /secrets',
      'patch /pods/ephemeralcontainers',
    ])
      t.notOk(control?.has(one), one);
  },
);

t.test('no role allows impersonation, escalation, the ownership of a namespace or policies', async (t) => {
  const forbidden = [
    /^(impersonate|escalate|bind|\*) |\*/,
    /^(create|update|patch|delete\w*) \/(namespaces|endpoints|nodes)/,
    / tenancy\.stonegate\.dev\//,
  ];
  for (const name of CLUSTER_ROLES.keys())
    for (const one of allowed(name))
      t.notOk(
        forbidden.some((form) => form.test(one)),
        `${name}: ${one}`,
      );
});

t.test(
  'in a tenant of Arktos, the manage role may bind the four roles that it contains, and no others',
  async (t) => {
    for (const [name, rules] of TENANT_CLUSTER_ROLES) {
      const more = rules.slice(CLUSTER_ROLES.get(name)?.length);
      t.strictSame(rules.slice(0, -more.length || rules.length), CLUSTER_ROLES.get(name));
      t.strictSame(
        more,
        name !== 'stonegate:manage'
          ? []
          : [
              {
                apiGroups: ['rbac.authorization.k8s.io'],
                resources: ['clusterroles'],
                resourceNames: ['stonegate:read', 'stonegate:control', 'stonegate:edit', 'stonegate:manage'],
                verbs: ['bind'],
              },
            ],
      );
    }
  },
);
