import t from 'tap';
import {
  concernsKeys,
  fingerprintOfSubject,
  keysOfSubject,
  ValuesBySubject,
} from '../../../src/access/subject-changes.ts';
import { type RBACUser, uniformSubject } from '../../../src/rbac/attributes.ts';
import type { SubjectKey } from '../../../src/rbac/subject-key.ts';

const userOf = (username: string, ...groups: string[]): RBACUser => ({ tenant: 'acme', username, groups });
const changeOf = (...subjects: SubjectKey[]) => ({ subjects: new Set(subjects) });

t.test('a user is concerned by a change of their name, and of each of their groups', async (t) => {
  const keys = keysOfSubject(uniformSubject(userOf('alice', 'dev', 'ops')));
  for (const key of ['user:alice', 'group:dev', 'group:ops'] as const)
    t.ok(concernsKeys(changeOf('user:bob', key), keys), key);
  t.notOk(concernsKeys(changeOf('user:dev', 'group:alice', 'group:qa', 'user:bob'), keys));
  t.notOk(concernsKeys(changeOf(), keys));
});

t.test('groups that a user has in one namespace only count too', async (t) => {
  const alice = userOf('alice');
  const subject = {
    cluster: alice,
    other: userOf('alice', 'everywhere'),
    namespaces: new Map([['shop', userOf('alice', 'shop')]]),
  };
  t.same(keysOfSubject(subject), new Set(['user:alice', 'group:everywhere', 'group:shop']));
});

t.test('users are equal if RBAC cannot tell them apart', async (t) => {
  const one = uniformSubject(userOf('alice', 'dev', 'ops'));
  t.equal(fingerprintOfSubject(uniformSubject(userOf('alice', 'ops', 'dev'))), fingerprintOfSubject(one));
  const others = [
    uniformSubject(userOf('bob', 'dev', 'ops')),
    uniformSubject(userOf('alice', 'dev')),
    uniformSubject(userOf('alice', 'dev,ops')),
    uniformSubject({ ...userOf('alice', 'dev', 'ops'), tenant: 'globex' }),
    { ...one, other: userOf('alice') },
    { ...one, namespaces: new Map([['shop', userOf('alice', 'dev')]]) },
  ];
  const all = [one, ...others].map(fingerprintOfSubject);
  t.equal(new Set(all).size, all.length);
  const places = (...names: string[]) => new Map(names.map((name) => [name, userOf('alice', name)]));
  t.equal(
    fingerprintOfSubject({ ...one, namespaces: places('a', 'b') }),
    fingerprintOfSubject({ ...one, namespaces: places('b', 'a') }),
    'the order of namespaces does not matter',
  );
});

t.test(
  'values are found by each key of their user, in their tenant only, until they are deleted',
  async (t) => {
    const values = new ValuesBySubject<string>();
    const keys = ['user:alice', 'group:dev'] as const;
    values.add('acme', keys, 'of alice');
    values.add('acme', ['user:bob', 'group:dev'], 'of bob');
    values.add('globex', keys, 'of globex');
    t.same([...values.under('acme', ['group:dev'])], ['of alice', 'of bob']);
    t.same([...values.under('acme', ['user:alice', 'group:dev', 'group:qa'])], ['of alice', 'of bob']);
    t.same([...values.under('globex', ['user:bob'])], []);
    values.delete('acme', keys, 'of alice');
    values.delete('initech', keys, 'of alice');
    t.same([...values.under('acme', keys)], ['of bob']);
    for (const value of values.under('globex', keys)) values.delete('globex', keys, value);
    t.same([...values.under('globex', keys)], [], 'deleted while they are read');
    values.clear();
    t.same([...values.under('acme', ['group:dev'])], []);
  },
);
