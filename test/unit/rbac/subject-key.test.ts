import t from 'tap';
import { type RBACUser, uniformSubject } from '../../../src/rbac/attributes.ts';
import { fingerprintOfSubject } from '../../../src/rbac/subject-key.ts';
import { tokenScope } from '../../support/token-scope.ts';

const userOf = (username: string, ...groups: string[]): RBACUser => ({ tenant: 'acme', username, groups });
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
  const owner = userOf('alice', 'dev');
  const fingerprintOf = (scopes: string | undefined, id: string) => {
    const scope = scopes === undefined ? undefined : { ...tokenScope(scopes), id };
    return fingerprintOfSubject(uniformSubject({ ...owner, scope }));
  };
  const all = [
    fingerprintOf(undefined, ''),
    fingerprintOf('read', 'a'),
    fingerprintOf('read', 'b'),
    fingerprintOf('session', 'a'),
  ];
  t.equal(new Set(all).size, all.length);
  t.equal(fingerprintOf('read', 'a'), fingerprintOf('read', 'a'));
});
