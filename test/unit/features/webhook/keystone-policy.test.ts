import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { policyAllows } from '../../../../src/features/webhook/keystone-policy.ts';
import { readPolicy } from '../../../../src/features/webhook/policy-file.ts';
import type { SubjectAccessReviewSpec } from '../../../../src/kubernetes/authorization-v1.ts';
import { eachRow } from '../../../support/rows.ts';

const IDENTITY = 'alpha.kubernetes.io/identity';

interface PolicyUser {
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly roles?: readonly string[];
  readonly projects?: readonly string[];
}

function asks({ user = 'user1', groups = [], roles = [], projects = ['demo'] }: PolicyUser) {
  return {
    user,
    uid: `${user}-id`,
    groups,
    extra: {
      [`${IDENTITY}/roles`]: roles,
      [`${IDENTITY}/project/name`]: projects,
      [`${IDENTITY}/user/domain/id`]: ['default'],
    },
  };
}

/** @param what `verb namespace resource[/subresource]`; a path in place of the last two */
function allows(policy: readonly object[], user: PolicyUser, what: string): boolean {
  const read = readPolicy(JSON.stringify(policy));
  if (!read.ok) throw new Error(read.problems.join('\n'));
  return policyAllows(read.value, { ...asks(user), ...questionOf(what) });
}

function questionOf(
  what: string,
): Pick<SubjectAccessReviewSpec, 'resourceAttributes' | 'nonResourceAttributes'> {
  const [verb = '', place = '', object = ''] = what.split(' ');
  if (place.startsWith('/')) return { nonResourceAttributes: { verb, path: place } };
  const [resource = '', subresource = ''] = object.split('/');
  const namespace = place === '-' ? '' : place;
  return { resourceAttributes: { verb, namespace, resource, subresource, group: '', version: 'v1' } };
}

const v1 = (resource: object, ...match: object[]) => [
  { resource: { verbs: ['get'], resources: ['pods'], version: '*', namespace: '*', ...resource }, match },
];
const v2 = (permissions: object, users?: object) => [
  { resource_permissions: permissions, ...(users && { users }) },
];

/** Each line is what a user asks, and whether it is allowed. */
const decides = (t: Test, policy: readonly object[], table: string) =>
  eachRow(table, (user, what, allowed) =>
    t.equal(String(allows(policy, parse(`{${user}}`), what)), allowed, `${user} ${what}`),
  );

t.test('version 1', async (t) => {
  t.test('C221 match entries are ANDed, values within one are ORed', async (t) => {
    const policy = v1({}, { type: 'user', values: ['user1', 'user2'] }, { type: 'role', values: ['role1'] });
    await decides(
      t,
      policy,
      `
      user: user1, roles: [role1]        | get default pods | true
      user: user2, roles: [role0, role1] | get default pods | true
      user: user1                        | get default pods | false
      user: user3, roles: [role1]        | get default pods | false`,
    );
  });

  t.test('C222 an unknown match type allows no user, not even with *', async (t) => {
    t.notOk(allows(v1({}, { type: 'shoe size', values: ['*'] }), {}, 'get default pods'));
  });

  t.test('users match by name and id, groups, projects and roles by name, * every user', async (t) => {
    const user = { user: 'u', groups: ['g'], roles: ['r'], projects: ['p'] };
    const matches = (type: string, value: string) =>
      allows(v1({}, { type, values: [value] }), user, 'get default pods');
    for (const [type, value] of Object.entries({ user: 'u', group: 'g', role: 'r', project: 'p' })) {
      for (const one of [value, '*']) t.ok(matches(type, one), type);
      t.notOk(matches(type, 'other'), type);
    }
    t.ok(matches('user', 'u-id'));
  });

  t.test('verb, resource, group and namespace must all match', async (t) => {
    await decides(
      t,
      v1({ namespace: 'default', version: '' }),
      `
        | get default pods    | true
        | list default pods   | false
        | get default secrets | false
        | get other pods      | false
        | get - pods          | false`,
    );
    t.notOk(allows(v1({ version: 'apps' }), {}, 'get default pods'));
  });

  t.test('pods are not their subresources, pods/* is all of them, * is everything', async (t) => {
    await eachRow(
      `
      pods      | get default pods/exec | false
      pods/exec | get default pods/exec | true
      pods/*    | get default pods/exec | true
      pods/*    | get default pods      | false
      *         | get default pods/exec | true`,
      (resource, what, allowed) =>
        t.equal(String(allows(v1({ resources: [resource] }), {}, what)), allowed, `${resource} ${what}`),
    );
  });

  t.test('C225 a path with a final * covers what is below it', async (t) => {
    await decides(
      t,
      [{ nonresource: { verbs: ['get'], path: '/api/*' }, match: [] }],
      `
        | get /api/x/y     | true
        | get /imaginary   | false
        | post /api/x      | false
        | get default pods | false`,
    );
    t.notOk(allows([{ nonresource: { verbs: ['get'] } }], {}, 'get /api'), 'without a path');
  });
});

t.test('version 2', async (t) => {
  const everything = { '*/*': ['*'] };

  t.test('C230 a user needs all of the roles and any of the projects', async (t) => {
    await decides(
      t,
      v2(everything, { roles: ['a', 'b'], projects: ['demo', 'other'] }),
      `
      roles: [a, b, c]                   | get default pods | true
      roles: [a]                         | get default pods | false
      roles: [a, b], projects: [third]   | get default pods | false`,
    );
    t.notOk(allows(v2(everything, { roles: ['a'] }), { roles: ['a'] }, 'get default pods'));
  });

  t.test(
    'C232 a user whom Keystone has not authenticated gets nothing, with or without attributes',
    async (t) => {
      const read = readPolicy(JSON.stringify(v2(everything)));
      if (!read.ok) throw new Error('the policy is no good');
      const others = [{}, { 'authentication.kubernetes.io/pod-name': ['p'] }, { [`${IDENTITY}/roles`]: [] }];
      for (const extra of others)
        t.notOk(
          policyAllows(read.value, { user: 'u', extra, ...questionOf('get default pods') }),
          JSON.stringify(extra),
        );
      t.ok(policyAllows(read.value, { ...asks({}), ...questionOf('get default pods') }));
    },
  );

  t.test('permissions override version 1 in the same entry, each kind separately', async (t) => {
    const [resource] = v1({});
    const entry = { ...resource, nonresource: { verbs: ['get'], path: '/version' }, match: [] };
    t.notOk(allows([{ ...entry, resource_permissions: {} }], {}, 'get default pods'));
    t.ok(allows([{ ...entry, resource_permissions: {} }], {}, 'get /version'));
    t.notOk(allows([{ ...entry, nonresource_permissions: {} }], {}, 'get /version'));
    t.ok(allows([entry, ...v2({})], {}, 'get default pods'), 'another entry is not affected');
  });

  t.test('paths are matched exactly', async (t) => {
    await decides(
      t,
      [{ nonresource_permissions: { '/healthz': ['get'], '/api/*': ['get'] } }],
      `
        | get /healthz      | true
        | get /healthz/etcd | false
        | get /api/v1       | false`,
    );
  });

  t.test('domains that an entry names are not ignored', async (t) => {
    const users = { projects: ['demo'], domains: ['acme', 'default'] };
    t.ok(allows(v2(everything, users), {}, 'get default pods'));
    t.notOk(allows(v2(everything, { ...users, domains: ['acme'] }), {}, 'get default pods'));
  });
});
