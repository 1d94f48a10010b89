/** Documents of access rules are bounded in size, whatever rules, names and namespaces a tenant creates. */
import t from 'tap';
import { compileAccessRules } from '../../../../src/features/access-rules/access-rules.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { rulesAllow } from '../../../support/evaluate-rules.ts';
import { indexOf, rbacObjects, rbacUser } from '../../../support/rbac-objects.ts';

const MEGABYTE = 1024 * 1024;
const alice = uniformSubject(rbacUser('alice'));

const bytesOf = (value: object): number => Buffer.byteLength(JSON.stringify(value));

function texts(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}${at}`);
}

/** Namespaces, each with its own role of that many grants. */
function differentRoles(namespaces: readonly string[], grants: number) {
  const kinds = texts(grants, 'kind');
  return namespaces.flatMap((name) =>
    rbacObjects(`
    Namespace ${name}
    Role ${name}/own: get ${kinds} ${name}
    RoleBinding ${name}/b: Role/own to User alice`),
  );
}

t.test('a role with very long verbs does not make a document larger than a megabyte', async (t) => {
  const verbs = texts(50, 'verb').map((verb) => verb.padEnd(24_000, 'x'));
  const index = indexOf(
    ...rbacObjects(`ClusterRole admin: get ${texts(4_900, 'kind')}`),
    ...texts(4, 'ns').flatMap((name) =>
      rbacObjects(`
      Role ${name}/long: ${name},${verbs} * *
      RoleBinding ${name}/long: Role/long to User alice
      RoleBinding ${name}/admin: ClusterRole/admin to User alice`),
    ),
  );
  const { rules, isCut } = compileAccessRules(index, alice, { verb: '*' });
  t.ok(isCut);
  t.ok(bytesOf(rules) < MEGABYTE);
  t.equal(rules.namespaces[0]?.rules[0]?.resources.length, 4_900, 'the rules that fit are included');
});

t.test('large roles in some namespaces do not displace the rules of other namespaces', async (t) => {
  const own = differentRoles(['home', 'work'], 100);
  const index = indexOf(...differentRoles(texts(500, 'ns'), 500), ...own);
  const { rules, isCut } = compileAccessRules(index, alice, { verb: 'get' });
  t.ok(isCut);
  for (const name of ['home', 'work']) {
    const found = rules.namespaces.find(({ names }) => names.includes(name));
    t.equal(found?.rules.flatMap(({ resources }) => resources).length, 100, name);
  }
});

t.test('a namespace that is left out does not get the rules of other namespaces', async (t) => {
  const index = indexOf(
    ...differentRoles(texts(200, 'ns'), 500),
    ...rbacObjects(
      'ClusterRole reader: get pods\nClusterRoleBinding of-many: ClusterRole/reader to Group many',
    ),
  );
  const more = rbacUser('alice', ['many']);
  const subject = { cluster: more, other: more, namespaces: new Map([['home', rbacUser('alice', [])]]) };
  const { rules, isCut } = compileAccessRules(index, subject, { verb: 'get' });
  t.ok(isCut);
  const question = { verb: 'get', apiGroup: '', resource: 'pods', subresource: '', name: '' };
  t.notOk(rulesAllow(rules, { ...question, namespace: 'home' }));
  t.ok(rulesAllow(rules, { ...question, namespace: '' }));
});
