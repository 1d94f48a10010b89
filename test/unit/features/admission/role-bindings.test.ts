import t from 'tap';
import { parse } from 'yaml';
import type { Right } from '../../../../src/features/admission/required-rights.ts';
import { createRoleBindingsRule } from '../../../../src/features/admission/role-bindings.ts';
import type { BodyFormat, UserResponse } from '../../../../src/proxy/body-rule.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { admissionRequest, decisionOf } from '../../../support/admission-reviews.ts';
import { type Asked, inspectedRequest } from '../../../support/inspected.ts';
import { eachRow, linesOf } from '../../../support/rows.ts';

const RBAC = 'rbac.authorization.k8s.io';
const BINDINGS = `/apis/${RBAC}/v1/tenants/acme/namespaces/ns/rolebindings`;
const CLUSTER_WIDE = `/apis/${RBAC}/v1/tenants/acme/clusterrolebindings`;
const view = { apiGroup: RBAC, kind: 'ClusterRole', name: 'view' };
const own = { apiGroup: RBAC, kind: 'Role', name: 'own' };
const subjects = [{ kind: 'User', apiGroup: RBAC, name: 'acme:mia' }];
const REFUSED = { code: 'AccessDenied' };
const MALFORMED = { code: 'BodyMalformed' };

interface Options {
  readonly path?: string;
  readonly method?: string;
  readonly format?: BodyFormat;
  /** Whether the user may bind. */
  readonly allowed?: boolean;
  readonly answer?: (asked: Asked) => UserResponse;
}

async function admit(content: unknown, options: Options = {}) {
  const { path = BINDINGS, format = 'object', allowed = false } = options;
  const reviewed: Right[] = [];
  const admission = createRoleBindingsRule({
    isConfined: () => true,
    async review(_, attributes) {
      reviewed.push(attributes);
      return { allowed };
    },
  });
  const request = inspectedRequest({ ...options, path });
  const forwarded = await admission.admit({ format, content }, request);
  return { forwarded, reviewed, asked: request.asked };
}

const binding = (roleRef: unknown) => ({ metadata: { name: 'b' }, subjects, roleRef });

t.test('a binding is forwarded unchanged if the user may bind its role in the tenant', async (t) => {
  const { forwarded, reviewed, asked } = await admit(binding(view), { allowed: true });
  t.strictSame([forwarded, asked], [undefined, []]);
  t.strictSame(reviewed, [
    { verb: 'bind', group: RBAC, version: 'v1', resource: 'clusterroles', name: 'view', namespace: 'ns' },
  ]);
});

t.test('a binding is refused if the user may not bind its role in the tenant', async (t) => {
  await t.rejects(admit(binding(view)), {
    ...REFUSED,
    message:
      /^rolebindings.* is forbidden: User "acme:mia" cannot create .*may not bind the ClusterRole "view"$/,
  });
});

t.test('a binding for the whole tenant is reviewed without a namespace', async (t) => {
  const { reviewed } = await admit(binding(view), { allowed: true, path: CLUSTER_WIDE });
  t.strictSame(reviewed, [
    { verb: 'bind', group: RBAC, version: 'v1', resource: 'clusterroles', name: 'view' },
  ]);
  await t.rejects(admit(binding(view), { path: CLUSTER_WIDE }), REFUSED);
});

t.test('a binding without one readable role is refused without a review', async (t) => {
  for (const body of linesOf(`
    {}
    {"roleRef":"view"}
    {"roleRef":{"kind":"ClusterRole"}}
    {"roleRef":{"apiGroup":"example.com","kind":"ClusterRole","name":"view"}}
    {"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"clusterrole","name":"view"}}
    {"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"../view"}}
    {"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view","Name":"admin"}}`))
    await t.rejects(admit(JSON.parse(body), { allowed: true }), MALFORMED, body);
});

const stored = () => ({ status: 200, content: { kind: 'RoleBinding', subjects, roleRef: view } });
const patching = { path: `${BINDINGS}/b`, method: 'PATCH', answer: stored } as const;
const VIEW = `{apiGroup: ${RBAC}, kind: ClusterRole, name: view}`;
const FORMATS: readonly BodyFormat[] = ['merge-patch', 'strategic-merge-patch', 'json-patch'];
const formatOf = (text: string) => FORMATS.find((format) => format === text) ?? 'object';

await eachRow(
  `
  merge-patch | {subjects: []} | {subjects: [], roleRef: ${VIEW}}
  strategic-merge-patch | {subjects: null, roleRef: {name: view}} | {subjects: null, roleRef: ${VIEW}}
  json-patch | [{op: remove, path: /subjects/0}] | [{op: remove, path: /subjects/0}, {op: add, path: /roleRef, value: ${VIEW}}]`,
  (name, patch, forwarded) =>
    t.test(`a ${name} is reviewed for the stored role, and forwarded with that role`, async (t) => {
      const format = formatOf(name);
      const admitted = await admit(parse(patch), { ...patching, format, allowed: true });
      t.strictSame(admitted.forwarded, parse(forwarded));
      t.strictSame(admitted.asked, [{ method: 'GET', path: `${BINDINGS}/b` }]);
      t.match(admitted.reviewed, [{ verb: 'bind', name: 'view' }]);
      await t.rejects(admit(parse(patch), { ...patching, format }), REFUSED);
    }),
);

t.test('a patch that changes the role, or may, is refused', async (t) => {
  await eachRow(
    `
    merge-patch | {"roleRef":{"name":"admin"}}
    merge-patch | {"ROLEREF":{"name":"admin"}}
    strategic-merge-patch | {"roleRef":{"kind":"Role"}}
    json-patch | [{"op":"replace","path":"/roleRef/name","value":"admin"}]
    json-patch | [{"op":"move","from":"/roleRef","path":"/x"}]
    json-patch | [{"op":"replace","Path":"/roleRef/name","path":"/x"}]
    json-patch | [1]`,
    (format, patch) =>
      t.rejects(
        admit(JSON.parse(patch), { ...patching, format: formatOf(format), allowed: true }),
        MALFORMED,
        patch,
      ),
  );
});

t.test(
  'a patch of a binding that does not exist gets 404, of one that the user may not read 403',
  async (t) => {
    const refused = (status: number) =>
      admit({}, { ...patching, format: 'merge-patch', answer: () => ({ status, content: {} }) });
    await t.rejects(refused(404), { code: 'NotFound', message: `rolebindings.${RBAC} "b" not found` });
    await t.rejects(refused(403), REFUSED);
  },
);

t.test('bindings by users of the system tenant are left to the API server', async (t) => {
  const admission = createRoleBindingsRule({
    isConfined: (tenant) => tenant !== 'system',
    review: async () => ({ allowed: true }),
  });
  const { info } = inspectedRequest({ path: BINDINGS });
  for (const binding of [info, inspectedRequest({ path: CLUSTER_WIDE }).info])
    t.ok(admission.appliesTo(binding, toTenantName('acme')));
  t.notOk(admission.appliesTo(info, toTenantName('system')));
  const roles = inspectedRequest({ path: BINDINGS.replace('rolebindings', 'roles') });
  t.notOk(admission.appliesTo(roles.info, toTenantName('acme')));
});

t.test('the webhook requires the right to bind the role', async (t) => {
  const object = { metadata: { name: 'b', tenant: 'acme' }, roleRef: view, subjects };
  const update = { operation: 'UPDATE', object, oldObject: object } as const;
  const user = (name: string) => ({ username: `system:serviceaccount:kube-system:${name}`, groups: [] });
  const first = parse(`
    metadata: {name: admin-role-binding, tenant: acme}
    roleRef: {apiGroup: ${RBAC}, kind: ClusterRole, name: admin-role}
    subjects: [{kind: User, apiGroup: ${RBAC}, name: admin}]`);
  const byController = { user: user('tenant-controller'), object: first };
  const judge = (changes: object, mode: 'arktos' | 'shared' = 'arktos') => {
    const kind = { group: RBAC, resource: 'rolebindings', namespace: 'ns' };
    const { violations, required } = decisionOf({ mode })(admissionRequest({ ...kind, object, ...changes }));
    if (violations.length > 0) return 'refused';
    return required.flatMap(({ rights }) => rights.map(({ right }) => `${right.resource}/${right.name}`));
  };
  for (const [what, changes, expected] of [
    ['a user of a tenant must have bind on a ClusterRole', {}, ['clusterroles/view']],
    ['on a Role too', { object: { ...object, roleRef: own } }, ['roles/own']],
    ['an update of the subjects', { ...update, object: { ...object, subjects: [] } }, ['clusterroles/view']],
    ['any other update', { ...update, object: { ...object, metadata: { name: 'b', labels: {} } } }, []],
    ['a deletion', { operation: 'DELETE', object: undefined, oldObject: object }, []],
    ['a role that cannot be read', { object: { ...object, roleRef: 'view' } }, 'refused'],
    ['users of the system', { user: { username: 'system:stonegate:dora', groups: [] } }, []],
    ['the first binding of a tenant', byController, []],
    [
      'another by the same controller',
      { ...byController, object: { ...first, subjects } },
      ['clusterroles/admin-role'],
    ],
    ['the first by another account', { ...byController, user: user('x') }, ['clusterroles/admin-role']],
  ] as const)
    t.strictSame(judge(changes), expected, what);
  t.strictSame(judge({}, 'shared'), [], 'an ordinary API server checks bindings itself');
});
