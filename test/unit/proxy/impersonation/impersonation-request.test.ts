import t from 'tap';
import type { HeaderField } from '../../../../src/lib/header-list.ts';
import { impersonationRequest } from '../../../../src/proxy/impersonation/impersonation-request.ts';
import { rows } from '../../../support/rows.ts';

const BOB: HeaderField = ['Impersonate-User', 'bob'];
/** Text as a listener receives it, with one character for each byte. */
const bytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

t.test('a request without impersonation headers impersonates no user', async (t) =>
  t.equal(
    impersonationRequest([
      ['Accept', 'Impersonate-User'],
      ['X-Impersonate-User', 'bob'],
    ]),
    undefined,
  ),
);

t.test('user, uid, groups and extra are read as kubectl sends them', async (t) =>
  t.strictSame(
    impersonationRequest([
      BOB,
      ['impersonate-UID', 'u-1'],
      ['Impersonate-Group', 'devs'],
      ['IMPERSONATE-GROUP', 'CN=a,OU=b'],
      ['Impersonate-Group', 'devs'],
      ['Impersonate-Extra-scopes', 'view'],
      ['Impersonate-Extra-Scopes', 'edit'],
    ]),
    { user: 'bob', uid: 'u-1', groups: ['devs', 'CN=a,OU=b'], extra: { scopes: ['view', 'edit'] } },
  ),
);

t.test('C040 the key of an extra is unescaped and becomes lower case', async (t) => {
  for (const key of ['Acme.example%2FReason', 'acme.example%2fREASON', '%41cme%2Eexample/reason'])
    t.same(impersonationRequest([BOB, [`Impersonate-Extra-${key}`, 'x']])?.extra, {
      'acme.example/reason': ['x'],
    });
});

t.test('names with non-ASCII characters are decoded as UTF-8', async (t) =>
  t.equal(impersonationRequest([['Impersonate-User', bytes('Zoë 世')]])?.user, 'Zoë 世'),
);

for (const name of [
  'Impersonate',
  'Impersonate-Users',
  'Impersonate_User',
  'Impersonate-Extra',
  'Impersonate_Extra-scopes',
  'Impersonate-Not-Real',
  'Impersonate-User,Impersonate-Group',
])
  t.test(`C018 C019 C084 C118 the header ${name} is not one of Kubernetes’ and is refused`, async (t) => {
    t.throws(() => impersonationRequest([BOB, [name, 'x']]), { code: 'ImpersonationForbidden' });
    t.throws(() => impersonationRequest([[name, 'x']]), { code: 'ImpersonationForbidden' });
  });

/** What is wrong, and the header fields. */
const MALFORMED = rows(`
C015 groups without a user | Impersonate-Group=devs
C017 C085 a uid without a user | IMPERSONATE-uid=u-1
extra without a user | Impersonate-Extra-scopes=view
two users | Impersonate-User=bob; impersonate-user=carol
the same user twice | Impersonate-User=bob; Impersonate-User=bob
two uids | Impersonate-User=bob; Impersonate-Uid=1; Impersonate-Uid=2
an empty user | Impersonate-User=
an empty group | Impersonate-User=bob; Impersonate-Group=
an empty uid | Impersonate-User=bob; Impersonate-Uid=
an empty value of an extra | Impersonate-User=bob; Impersonate-Extra-scopes=
an extra without a key | Impersonate-User=bob; Impersonate-Extra-=x
a key with bad escapes | Impersonate-User=bob; Impersonate-Extra-a%2=x
C082 a key with other characters | Impersonate-User=bob; Impersonate-Extra-a%20b=x
a key that only looks like ASCII | Impersonate-User=bob; Impersonate-Extra-%e2%84%aa=x
a name that is not UTF-8 | Impersonate-User=b\xf6b
a name with an overlong encoding | Impersonate-User=system\xc0\xbaadmin
a name with characters beyond one byte | Impersonate-User=世`);
for (const [what, text] of MALFORMED)
  t.test(`${what}: the request is refused as malformed`, async (t) => {
    const headers = text.split('; ').map((field): HeaderField => {
      const [name = '', value = ''] = field.split('=');
      return [name, value];
    });
    t.throws(() => impersonationRequest(headers), { code: 'RequestMalformed' });
  });

t.test('64 values are accepted', async (t) => {
  const groups = Array.from({ length: 63 }, (_, i): HeaderField => ['Impersonate-Group', `g${i}`]);
  t.equal(impersonationRequest([BOB, ...groups])?.groups.length, 63);
});
