import t from 'tap';
import { parseKeySet } from '../../../src/clients/oidc-key-set.ts';

const TENANT = 'https://login.microsoftonline.com/0000-1111/v2.0';
const KEY = { kty: 'RSA', kid: 'a', n: 'AQAB', e: 'AQAB' };

function kidsOf(keys: readonly unknown[], issuer = 'https://login.example.com'): (string | undefined)[] {
  return parseKeySet(JSON.stringify({ keys }), issuer).keys.map((key) => key.kid);
}

t.test('public keys of asymmetric algorithms are kept', async (t) => {
  t.same(kidsOf([KEY, { kty: 'EC', kid: 'b' }, { kty: 'OKP', kid: 'c' }]), ['a', 'b', 'c']);
});

t.test('secrets, private keys and members of other kinds are passed over', async (t) => {
  const others = [
    { kty: 'oct', k: 'AA' },
    { ...KEY, d: 'AA' },
    { kty: 'AKP' },
    { kid: 'x' },
    7,
    null,
    [KEY],
    { ...KEY, kid: 7 },
  ];
  t.same(kidsOf(others), []);
});

t.test('what is no key set is refused', async (t) => {
  for (const text of ['', '<html>', '[]', 'null', '{}', '{"keys":{}}', '{"keys":"a"}']) {
    t.throws(() => parseKeySet(text, TENANT), Error);
  }
});

t.test('of Entra ID’s keys only those for any tenant and for the issuer’s own are kept', async (t) => {
  const keys = [
    { ...KEY, kid: 'any', issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' },
    { ...KEY, kid: 'own', issuer: TENANT },
    { ...KEY, kid: 'other', issuer: 'https://login.microsoftonline.com/9188040d/v2.0' },
    { ...KEY, kid: 'cloud', issuer: 'https://login.example.com/{tenantid}/v2.0' },
    { ...KEY, kid: 'twice', issuer: 'https://login.microsoftonline.com/{tenantid}/{tenantid}' },
    { ...KEY, kid: 'none' },
  ];
  t.same(kidsOf(keys, TENANT), ['any', 'own', 'none']);
});

t.test('the placeholder stands for one part of the path', async (t) => {
  const keys = [{ ...KEY, issuer: 'https://login.example.com/{tenantid}/v2.0' }];
  t.same(kidsOf(keys, 'https://login.example.com/a/b/v2.0'), []);
  t.same(kidsOf(keys, 'https://login.example.com//v2.0'), []);
  t.same(kidsOf(keys, 'https://login.example.com/v2.0'), []);
});
