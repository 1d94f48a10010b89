import fc from 'fast-check';
import t from 'tap';
import { asciiJSON, foreignText, MAX_TEXT, redact, untrustedText } from '../../../src/lib/untrusted-text.ts';

t.test('tokens and credentials in parameters are redacted, and everything else is unchanged', async (t) => {
  const fernet = `gAAAAA${'x'.repeat(30)}`;
  t.equal(redact(`/a/${fernet}/b`), '/a/[redacted]/b');
  t.equal(redact(`/invitation/sgi_${'7aZ'.repeat(15)}0`), '/invitation/[redacted]');
  t.equal(redact('/a?token=1&b=2;password=3#c'), '/a?token=[redacted]&b=2;password=[redacted]#c');
  t.equal(redact('curl eyJhbGciOiJub25lIn0.e30.'), 'curl [redacted]');
  t.equal(redact('/api/v1/pods?limit=5%20'), '/api/v1/pods?limit=5%20');
  t.equal(redact('gAAAAA and eyJ are no tokens'), 'gAAAAA and eyJ are no tokens');
});

t.test('a percent-encoded token is redacted', async () => {
  const escaped = (text: string) =>
    [...text].map((c) => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`).join('');
  const token = `gAAAAA${'Zq9'.repeat(20)}`;
  fc.assert(
    fc.property(fc.subarray([...token].map((_, at) => at)), (positions) => {
      const text = [...token].map((c, at) => (positions.includes(at) ? escaped(c) : c)).join('');
      return !redact(`/a/${text}`).includes('Zq9Zq9Zq9') && redact(`/a/${text}`).includes('[redacted]');
    }),
  );
});

t.test('a long text is truncated', async (t) => {
  t.equal(foreignText('b'.repeat(60_000)).length, MAX_TEXT + 1);
  t.equal(foreignText('short'), 'short');
  t.equal(foreignText('abcdef', 3), 'abc…');
});

t.test('JSON escaped to ASCII has the same value', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value);
      const ascii = asciiJSON(json);
      return /^[\x20-\x7e]*$/.test(ascii) && JSON.stringify(JSON.parse(ascii)) === json;
    }),
  );
});

t.test(
  'long opaque tokens are redacted in names that a client chose, and ordinary names are unchanged',
  async (t) => {
    const opaque = 'sha256~Q1w2E3r4T5y6U7i8O9p0A1s2D3f4G5h6J7k8L9z0';
    t.equal(untrustedText(`User "acme:${opaque}" cannot`), 'User "acme:[redacted]" cannot');
    t.equal(untrustedText(`gaaaaa${'b'.repeat(40)}`), '[redacted]', 'as HTTP/2 spells it');
    for (const name of [
      'acme:alice',
      'oidc:a.very.long.name.of.a.member@department-of-research.example.com',
      'payments-production-eu-west-1-reader-and-writer-role',
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      '7f9c2ba4-e88f-427d-9116-5d5a2f0ba4c1',
      'system:serviceaccount:kube-system:clusterrole-aggregation-controller',
    ])
      t.equal(untrustedText(name), name);
  },
);

t.test('no part of a token remains where a text is truncated', async (t) => {
  const token = `gAAAAA${'Zq9'.repeat(60)}`;
  for (let limit = 1; limit < 200; limit += 1)
    t.notMatch(untrustedText(`${'n'.repeat(10)}:${token}`, limit), 'Zq9');
  t.equal(untrustedText('abcdef', 3), 'abc…');
});
