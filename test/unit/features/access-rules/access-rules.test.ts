import t from 'tap';
import { parse } from 'yaml';
import { compileAccessRules as compile } from '../../../../src/features/access-rules/access-rules.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { indexOf, rbacObjects, rbacUser } from '../../../support/rbac-objects.ts';

const compileAccessRules = (...given: Parameters<typeof compile>) => compile(...given).rules;

const VIEW = 'ClusterRole view: get,list,watch pods,deployments ,apps';
const alice = uniformSubject(rbacUser('alice', ['devs']));

t.test('one role in thousands of namespaces is one entry', async (t) => {
  const names = Array.from({ length: 5_000 }, (_, at) => `team-${String(at).padStart(4, '0')}`);
  const bindings = names.map((name) => `RoleBinding ${name}/v: ClusterRole/view to User alice`);
  const index = indexOf(...rbacObjects([VIEW, ...bindings].join('\n')));
  t.strictSame(compileAccessRules(index, alice, { verb: 'list' }), {
    everywhere: [],
    cluster: [],
    namespaces: [{ names, rules: [{ apiGroups: ['', 'apps'], resources: ['deployments', 'pods'] }] }],
    otherNamespaces: [],
  });
});

t.test('rules that apply everywhere are not repeated in a namespace', async (t) => {
  const index = indexOf(
    ...rbacObjects(`
    ${VIEW}
    ClusterRole edit: get,list,watch deployments,pods apps,; create,delete pods
    Namespace a
    ClusterRoleBinding v: ClusterRole/view to Group devs
    RoleBinding a/e: ClusterRole/edit to User alice
    RoleBinding b/v: ClusterRole/view to User alice`),
  );
  t.strictSame(
    compileAccessRules(index, alice, { verb: '*' }),
    parse(`
    everywhere: [{verbs: [get, list, watch], apiGroups: ['', apps], resources: [deployments, pods]}]
    cluster: []
    namespaces: [{names: [a], rules: [{verbs: [create, delete], apiGroups: [''], resources: [pods]}]}]
    otherNamespaces: []`),
  );
});

t.test(
  'a short rule that stands for hundreds of thousands of grants is left out, and the result says that it is cut',
  async (t) => {
    const names = (prefix: string) => Array.from({ length: 60 }, (_, at) => `${prefix}${at}`);
    const index = indexOf(
      ...rbacObjects(`
      Namespace a
      Role a/huge: ${names('v')} ${names('r')} ${names('g')}; list pods
      RoleBinding a/x: Role/huge to User alice`),
    );
    const compiled = compile(index, uniformSubject(rbacUser('alice')), { verb: '*' });
    t.ok(compiled.isCut);
    const pods = parse("{verbs: [list], apiGroups: [''], resources: [pods]}");
    t.match(compiled.rules.namespaces, [{ names: ['a'], rules: [pods] }]);
    t.notOk(compile(index, uniformSubject(rbacUser('alice')), { verb: 'list' }).isCut);
  },
);

t.test('namespaces of which nothing is selected count too: very many are cut', async (t) => {
  const lines = Array.from(
    { length: 9_000 },
    (_, at) => `Role n${at}/r: get r${at}\nRoleBinding n${at}/b: Role/r to User alice`,
  );
  const index = indexOf(...rbacObjects(lines.join('\n')));
  t.ok(compile(index, uniformSubject(rbacUser('alice')), { verb: 'list' }).isCut);
});
