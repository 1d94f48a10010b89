import t from 'tap';
import { credentialOf, withoutTokenSubprotocol } from '../../../src/identity/credential.ts';

const carrier = (token: string) =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;

t.test('C001 a request without credential headers has no credential', async (t) =>
  t.equal(credentialOf([['Accept', '*/*']]), undefined),
);

t.test('C069 the scheme is case-insensitive', async (t) =>
  t.same(credentialOf([['authorization', 'BeAREr abc']]), { kind: 'bearer', token: 'abc' }),
);

t.test('C099 the second word is the token', async (t) =>
  t.same(credentialOf([['Authorization', 'Bearer panda man']]), { kind: 'bearer', token: 'panda' }),
);

t.test('C002 an Authorization header without a scheme, or with an unknown one, is refused', async (t) => {
  for (const value of ['foo', '', 'Negotiate x'])
    t.throws(() => credentialOf([['Authorization', value]]), {
      code: 'CredentialInvalid',
      message: 'Unauthorized',
    });
});

t.test('user name and password are read according to RFC 7617', async (t) => {
  const basic = (text: string) => `basic ${Buffer.from(text).toString('base64')}`;
  t.same(credentialOf([['Authorization', basic('alice:p:ä ss')]]), {
    kind: 'basic',
    userName: 'alice',
    password: 'p:ä ss',
  });
  t.match(credentialOf([['Authorization', basic('a:b')]]), { userName: 'a', password: 'b' });
  for (const value of ['Basic', 'Basic !', 'Basic /w==', basic('alice'), basic(':x'), basic('alice:')])
    t.throws(() => credentialOf([['Authorization', value]]), { code: 'CredentialInvalid' }, value);
});

t.test('C111 C193 an empty bearer token is refused', async (t) => {
  for (const value of ['Bearer', 'Bearer ', 'Bearer  x'])
    t.throws(() => credentialOf([['Authorization', value]]), { code: 'CredentialInvalid' });
  t.throws(() => credentialOf([['X-Auth-Token', ' ']]), { code: 'CredentialInvalid' });
});

t.test('a Keystone token may come as X-Auth-Token', async (t) =>
  t.same(credentialOf([['X-Auth-Token', 'gAAAAAx']]), { kind: 'x-auth-token', token: 'gAAAAAx' }),
);

t.test('a certificate is a credential, verified or not, and ambiguous together with any other', async (t) => {
  const certificate = { verified: false, problem: 'CERT_HAS_EXPIRED' } as const;
  t.same(credentialOf([['Accept', '*/*']], certificate), { kind: 'certificate', certificate });
  for (const header of [
    ['Authorization', 'Bearer a'],
    ['Authorization', 'Basic YTpi'],
    ['Authorization', 'Negotiate a'],
    ['X-Auth-Token', 'a'],
    ['Sec-WebSocket-Protocol', `${carrier('a')}, v4`],
  ] as const)
    t.throws(() => credentialOf([header], certificate), { code: 'CredentialAmbiguous' });
});

t.test('C095 two credentials of any kinds are refused', async (t) => {
  const both = [
    [
      ['Authorization', 'Bearer a'],
      ['Authorization', 'Bearer a'],
    ],
    [
      ['Authorization', 'Bearer a'],
      ['X-Auth-Token', 'b'],
    ],
    [
      ['X-Auth-Token', 'a'],
      ['x-auth-token', 'b'],
    ],
    [
      ['Authorization', 'Bearer a'],
      ['Sec-WebSocket-Protocol', `v4.channel.k8s.io, ${carrier('b')}`],
    ],
  ] as const;
  for (const headers of both) t.throws(() => credentialOf(headers), { code: 'CredentialAmbiguous' });
});

t.test('a bearer token may be a WebSocket subprotocol if there is another subprotocol', async (t) =>
  t.same(credentialOf([['Sec-WebSocket-Protocol', `${carrier('abc')}, v4.channel.k8s.io`]]), {
    kind: 'bearer',
    token: 'abc',
  }),
);

t.test('C246 two tokens among the subprotocols are refused', async (t) =>
  t.throws(() => credentialOf([['Sec-WebSocket-Protocol', `${carrier('a')}, ${carrier('b')}, v4`]]), {
    code: 'CredentialAmbiguous',
  }),
);

t.test('C247 a token as the only subprotocol is refused', async (t) => {
  t.throws(() => credentialOf([['Sec-WebSocket-Protocol', carrier('a')]]), { code: 'CredentialInvalid' });
  t.equal(withoutTokenSubprotocol(carrier('a')), '');
});

t.test('a token subprotocol that is empty or not base64url is refused', async (t) => {
  for (const encoded of ['', 'a+b', 'a%20b']) {
    const value = `v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.${encoded}`;
    t.throws(() => credentialOf([['Sec-WebSocket-Protocol', value]]), { code: 'CredentialInvalid' });
  }
});

t.test(
  'a token that is sent again on a connection gives the same object, on that connection only',
  async (t) => {
    const [mine, other] = [{}, {}];
    const bearer = (token: string, connection: object) =>
      credentialOf([['Authorization', `Bearer ${token}`]], undefined, connection);
    const first = bearer('abc', mine);
    t.equal(bearer('abc', mine), first);
    t.not(bearer('abc', other), first);
    t.same(bearer('abcd', mine), { kind: 'bearer', token: 'abcd' });
    t.same(bearer('abc', mine), { kind: 'bearer', token: 'abc' });
  },
);

t.test(
  'the same text in another header field is another credential, even on the same connection',
  async (t) => {
    const connection = {};
    t.same(credentialOf([['X-Auth-Token', 'Bearer a']], undefined, connection), {
      kind: 'x-auth-token',
      token: 'Bearer a',
    });
    t.same(credentialOf([['Authorization', 'Bearer a']], undefined, connection), {
      kind: 'bearer',
      token: 'a',
    });
  },
);

t.test(
  'an earlier credential of a connection neither resolves an ambiguity nor applies to other requests',
  async (t) => {
    const connection = {};
    const authorization = ['Authorization', 'Bearer abc'] as const;
    const again = (...more: (readonly [string, string])[]) => credentialOf([...more], undefined, connection);
    again(authorization);
    for (const more of [authorization, ['X-Auth-Token', 'abc'], ['X-Auth-Token', '']] as const)
      t.throws(() => again(authorization, more), { code: 'CredentialAmbiguous' });
    const certificate = { verified: false, problem: 'CERT_HAS_EXPIRED' } as const;
    t.throws(() => credentialOf([authorization], certificate, connection), { code: 'CredentialAmbiguous' });
    t.equal(again(), undefined, 'a later request without a credential has none');
    t.throws(() => again(['Authorization', 'Bearer']), { code: 'CredentialInvalid' });
  },
);
