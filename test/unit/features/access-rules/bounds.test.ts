/** Documents of access rules are bounded in size, whatever rules, names and namespaces a tenant creates. */
import t from 'tap';
import { compileAccessRules } from '../../../../src/features/access-rules/access-rules.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { rulesAllow } from '../../../support/evaluate-rules.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  indexOf,
  namespace,
  rbacUser,
  role,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const MEGABYTE = 1024 * 1024;
const alice = uniformSubject(rbacUser('alice'));

const bytesOf = (value: object): number => Buffer.byteLength(JSON.stringify(value));

function texts(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}${at}`);
}

/** Namespaces, each with its own role of that many grants. */
function differentRoles(namespaces: number, grants: number) {
  return texts(namespaces, 'ns').flatMap((name) => [
    namespace(name),
    role(name, 'own', [{ verbs: ['get'], apiGroups: [name], resources: texts(grants, 'kind') }]),
    roleBinding(name, 'b', 'Role/own', [user('alice')]),
  ]);
}

t.test('a role with very long verbs does not make a document larger than a megabyte', async (t) => {
  const verbs = texts(50, 'verb').map((verb) => verb.padEnd(24_000, 'x'));
  const kinds = { verbs: ['get'], apiGroups: [''], resources: texts(4_900, 'kind') };
  const index = indexOf(
    clusterRole('admin', [kinds]),
    ...texts(4, 'ns').flatMap((name) => [
      role(name, 'long', [{ verbs: [name, ...verbs], apiGroups: ['*'], resources: ['*'] }]),
      roleBinding(name, 'long', 'Role/long', [user('alice')]),
      roleBinding(name, 'admin', 'ClusterRole/admin', [user('alice')]),
    ]),
  );
  const { rules, isCut } = compileAccessRules(index, alice, { verb: '*' });
  t.ok(isCut);
  t.ok(bytesOf(rules) < MEGABYTE);
  t.equal(rules.namespaces[0]?.rules[0]?.resources.length, 4_900, 'the rules that fit are included');
});

t.test('large roles in some namespaces do not displace the rules of other namespaces', async (t) => {
  const own = ['home', 'work'].flatMap((name) => [
    namespace(name),
    role(name, 'own', [{ verbs: ['get'], apiGroups: [name], resources: texts(100, 'kind') }]),
    roleBinding(name, 'b', 'Role/own', [user('alice')]),
  ]);
  const index = indexOf(...differentRoles(500, 500), ...own);
  const { rules, isCut } = compileAccessRules(index, alice, { verb: 'get' });
  t.ok(isCut);
  for (const name of ['home', 'work']) {
    const found = rules.namespaces.find(({ names }) => names.includes(name));
    t.equal(found?.rules.flatMap(({ resources }) => resources).length, 100, name);
  }
});

t.test('a namespace that is left out does not get the rules of other namespaces', async (t) => {
  const pods = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
  const index = indexOf(
    ...differentRoles(200, 500),
    clusterRole('reader', [pods]),
    clusterRoleBinding('of-many', 'ClusterRole/reader', [group('many')]),
  );
  const more = rbacUser('alice', ['many']);
  const subject = { cluster: more, other: more, namespaces: new Map([['home', rbacUser('alice', [])]]) };
  const { rules, isCut } = compileAccessRules(index, subject, { verb: 'get' });
  t.ok(isCut);
  const question = { verb: 'get', apiGroup: '', resource: 'pods', subresource: '', name: '' };
  t.notOk(rulesAllow(rules, { ...question, namespace: 'home' }));
  t.ok(rulesAllow(rules, { ...question, namespace: '' }));
});
