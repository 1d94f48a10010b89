import t from 'tap';
import { type RBACUser, uniformSubject } from '../../../src/rbac/attributes.ts';
import { ByConcern, fingerprintOfSubject } from '../../../src/rbac/subject-changes.ts';
import { groupKey, keysOfUser, type SubjectKey } from '../../../src/rbac/subject-key.ts';

const userOf = (username: string, ...groups: string[]): RBACUser => ({ tenant: 'acme', username, groups });
/** A user without groups has one key. */
const userKey = (username: string): SubjectKey => [...keysOfUser(userOf(username))].join();

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

t.test('values are found by each key of their user, in their tenant only, until deleted', async (t) => {
  const about = (name: string, tenant: string, ...keys: SubjectKey[]) => ({
    name,
    concerns: { tenant, keys: new Set(keys) },
  });
  const alice = about('alice', 'acme', userKey('alice'), groupKey('dev'));
  const bob = about('bob', 'acme', userKey('bob'), groupKey('dev'));
  const other = about('other', 'globex', userKey('alice'), groupKey('dev'));
  const values = new ByConcern<typeof alice>();
  for (const value of [alice, bob, other]) values.add(value);
  const names = (tenant: string, ...keys: SubjectKey[]) => {
    const found = values.concernedBy({ tenant, keys: new Set(keys) });
    return [...found].map(({ name }) => name).sort();
  };
  t.same(names('acme', groupKey('dev')), ['alice', 'bob']);
  t.same(names('acme', userKey('alice'), groupKey('dev'), groupKey('a'), groupKey('b')), ['alice', 'bob']);
  t.same(names('globex', userKey('bob')), []);
  values.delete(alice);
  t.same(names('acme', userKey('alice'), groupKey('dev')), ['bob']);
  values.delete(bob);
  t.same(names('acme', userKey('bob'), groupKey('dev')), []);
  t.same(names('globex', groupKey('dev')), ['other']);
});
