import t from 'tap';
import {
  type ImpersonatedUser,
  impersonationHeaders,
} from '../../../src/kubernetes/impersonation-headers.ts';

const alice: ImpersonatedUser = {
  username: 'acme:alice',
  uid: 'u-1',
  groups: ['keystone:project:p1', 'system:authenticated'],
  extra: { 'alpha.kubernetes.io/identity/roles': ['member', 'reader'] },
};

t.test('user, uid, groups and extra are sent to the API server', async (t) =>
  t.same(impersonationHeaders(alice), [
    ['Impersonate-User', 'acme:alice'],
    ['Impersonate-Uid', 'u-1'],
    ['Impersonate-Group', 'keystone:project:p1'],
    ['Impersonate-Group', 'system:authenticated'],
    ['Impersonate-Extra-alpha.kubernetes.io%2fidentity%2froles', 'member'],
    ['Impersonate-Extra-alpha.kubernetes.io%2fidentity%2froles', 'reader'],
  ]),
);

t.test('C097 extra keys are percent-encoded and keep every value', async (t) => {
  const extra = { 'scopes.authorization.openshift.io': ['user:full', 'user:info'], 'a/b%c é': ['1'] };
  t.same(impersonationHeaders({ ...alice, groups: [], uid: '', extra }).slice(1), [
    ['Impersonate-Extra-scopes.authorization.openshift.io', 'user:full'],
    ['Impersonate-Extra-scopes.authorization.openshift.io', 'user:info'],
    ['Impersonate-Extra-a%2fb%25c%20%c3%a9', '1'],
  ]);
});

t.test('C116 a group with commas is one header value', async (t) => {
  const headers = impersonationHeaders({ ...alice, groups: ['CN=a,OU=b,DC=c'] });
  t.same(
    headers.filter(([name]) => name === 'Impersonate-Group'),
    [['Impersonate-Group', 'CN=a,OU=b,DC=c']],
  );
});

t.test('a name with non-ASCII characters is sent as its UTF-8 bytes', async (t) => {
  const [user] = impersonationHeaders({ ...alice, username: 'acme:Zoë 世' });
  t.equal(Buffer.from(user?.[1] ?? '', 'latin1').toString('utf8'), 'acme:Zoë 世');
});
