import t from 'tap';
import { uniformSubject } from '../../../src/rbac/attributes.ts';
import { fingerprintOfSubject } from '../../../src/rbac/subject-key.ts';
import { tokenScope } from '../../support/token-scope.ts';

const userOf = (username: string, ...groups: string[]) => ({ tenant: 'acme', username, groups });
t.test('users that RBAC cannot tell apart are equal', async (t) => {
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

t.test('two access tokens of one owner are two subjects', async (t) => {
  const ofToken = (scopes: string, id: string) =>
    fingerprintOfSubject(uniformSubject({ ...userOf('alice'), scope: { ...tokenScope(scopes), id } }));
  const owner = fingerprintOfSubject(uniformSubject(userOf('alice')));
  t.equal(new Set([owner, ofToken('read', 'a'), ofToken('read', 'b'), ofToken('session', 'a')]).size, 4);
  t.equal(ofToken('read', 'a'), ofToken('read', 'a'));
});
