import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { parse } from 'yaml';
import { provisionerRules } from '../../../../src/app/commands/provisioner-manifests.ts';
import { defaultConfiguration } from '../../../../src/app/configuration.ts';
import type { PolicyRule } from '../../../../src/kubernetes/kubernetes-object.ts';
import { BASIC_USER_ROLE, CLUSTER_ROLES, TENANT_CLUSTER_ROLES } from '../../../../src/rbac/cluster-roles.ts';
import { grantableRules } from '../../../../src/rbac/grantable-rules.ts';
import { rule } from '../../../support/policy-rule.ts';
import { eachRow } from '../../../support/rows.ts';

const rulesOf = (mode: 'arktos' | 'shared', sections: object = { bindings: { roles: {} } }) =>
  provisionerRules(defaultConfiguration({ tenancy: { mode }, ...sections }));

const FORBIDDEN = ['escalate', 'impersonate', '*'];

const verbsOn = (rules: ReturnType<typeof provisionerRules>, resource: string) =>
  rules.flatMap((rule) => (rule.resources?.includes(resource) ? rule.verbs : []));

/** Each right is one verb on one resource. */
const rightsIn = (rules: readonly PolicyRule[]): string[] =>
  rules.flatMap(({ apiGroups = [], resources = [], resourceNames = [''], verbs }) =>
    verbs.flatMap((verb) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => resourceNames.map((name) => `${verb} ${group}/${resource} ${name}`)),
      ),
    ),
  );

t.test('the provisioner holds every right that it grants', async (t) => {
  const basicUser = new Set(rightsIn(CLUSTER_ROLES.get(BASIC_USER_ROLE) ?? []));
  for (const [mode, roles] of [
    ['shared', CLUSTER_ROLES],
    ['arktos', TENANT_CLUSTER_ROLES],
  ] as const) {
    const held = rightsIn(rulesOf(mode));
    const lacking = rightsIn([...roles.values()].flat()).filter((right) => !held.includes(right));
    t.same(mode === 'arktos' ? lacking : lacking.filter((right) => !basicUser.has(right)), [], mode);
  }
});

t.test('no rule of the provisioner is included in another', async (t) => {
  for (const mode of ['arktos', 'shared'] as const) {
    const rules = rulesOf(mode);
    const needless = rules.filter((rule) => {
      const others = rightsIn(rules.filter((other) => other !== rule));
      return rightsIn([rule]).every((right) => others.includes(right));
    });
    t.same(needless, [], mode);
  }
});

t.test('the provisioner can grant nothing else: no escalation, no impersonation, no wildcard', async (t) => {
  for (const mode of ['arktos', 'shared'] as const) {
    const rules = rulesOf(mode);
    t.notOk(rules.some(({ verbs }) => verbs.some((verb) => FORBIDDEN.includes(verb))));
    t.notOk(rules.some(({ verbs, resourceNames }) => verbs.includes('bind') && resourceNames === undefined));
    t.notOk(rules.some(({ resources, apiGroups }) => [resources, apiGroups].flat().includes('*')));
  }
});

t.test('if an administrator maintains the roles, the provisioner only binds them', async (t) => {
  const roles = { member: { clusterRole: 'stonegate:edit' } };
  const rules = rulesOf('shared', { bindings: { createRoles: false, roles } });
  t.match(
    rules.find(({ verbs }) => verbs.includes('bind')),
    { resourceNames: ['stonegate:edit'] },
  );
  t.same(verbsOn(rules, 'secrets'), []);
  t.same(verbsOn(rules, 'clusterroles').sort(), ['bind', 'get', 'list']);
});

t.test('of further kinds that are published or counted it has one rule for each API group', async (t) => {
  const publishing = parse(`
    clusterScoped:
    - {resource: clusterroles, names: '*'}
    - {resource: storage.k8s.io/v1/storageclasses, names: fast}`);
  const quota = { default: { pods: '1' }, count: ['example.com/v1/widgets', 'v1/secrets'] };
  const rules = rulesOf('arktos', { bindings: { roles: {} }, publishing, quota });
  await eachRow(
    `
    get,list,watch,create,update,delete | clusterroles | rbac.authorization.k8s.io
    get,list,watch,create,update,delete | storageclasses | storage.k8s.io
    get,list,watch | persistentvolumeclaims,pods,secrets,services
    get,list,watch | widgets | example.com`,
    (verbs = '', resources = '', group = '') => {
      const expected = rule(verbs, resources, group);
      t.ok(
        rules.some((one) => isDeepStrictEqual(one, expected)),
        resources,
      );
    },
  );
});

t.test(
  'for policies, the provisioner holds what they may grant, and cannot bind their roles by name',
  async (t) => {
    const grantable = [rule('get', 'widgets', 'example.com')];
    for (const createRoles of [true, false]) {
      const rules = rulesOf('arktos', {
        bindings: { createRoles, roles: {} },
        authorization: { crossTenantPolicies: true },
        access: { grantable },
      });
      t.notOk(rules.some(({ verbs }) => verbs.some((verb) => FORBIDDEN.includes(verb))));
      const binds = rules.filter(({ verbs }) => verbs.includes('bind'));
      t.ok(binds.every(({ resourceNames = [] }) => resourceNames.length > 0));
      const names = binds.flatMap(({ resourceNames = [] }) => resourceNames);
      t.notOk(names.some((name) => name.startsWith('stonegate:policy:')));
      const held = rightsIn(rules);
      const granted = rightsIn(grantableRules(grantable));
      t.same(
        granted.filter((right) => !held.includes(right)),
        [],
      );
      t.ok(verbsOn(rules, 'clusterroles').includes('delete'));
      t.same(verbsOn(rules, 'crosstenantpolicies/status'), ['patch']);
    }
  },
);
