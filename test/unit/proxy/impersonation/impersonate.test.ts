import fc from 'fast-check';
import t from 'tap';
import type { UserInfo } from '../../../../src/kubernetes/authentication-v1.ts';
import { impersonationHeaders } from '../../../../src/kubernetes/impersonation-headers.ts';
import {
  assertOnlyIdentity,
  withImpersonationHeaders,
} from '../../../../src/proxy/impersonation/impersonate.ts';
import { cleanClientHeaders } from '../../../../src/proxy/request/client-headers.ts';

const alice: UserInfo = {
  username: 'acme:alice',
  uid: 'u-1',
  groups: ['keystone:project:p1', 'system:authenticated'],
  extra: { 'alpha.kubernetes.io/identity/roles': ['member', 'reader'] },
};
const options = { maxHeaderBytes: 1 << 20, auditID: 'a-1', clientAddress: '192.0.2.7' };

t.test(
  'C071 the client address and the audit ID sent upstream are those that Stonegate determined',
  async (t) => {
    const cleaned = cleanClientHeaders([
      ['X-Forwarded-For', 'example.com'],
      ['Audit-ID', 'forged'],
    ]);
    const headers = withImpersonationHeaders(cleaned, alice, options);
    t.same(headers.slice(0, 2), [
      ['Audit-ID', 'a-1'],
      ['X-Forwarded-For', '192.0.2.7'],
    ]);
  },
);

t.test('more groups than the API server accepts are refused, and the response says so', async (t) => {
  const groups = Array.from(
    { length: 20_000 },
    (_, i) => `oidc:00000000-0000-0000-0000-${String(i).padStart(12, '0')}`,
  );
  t.throws(() => withImpersonationHeaders([], { ...alice, groups }, options), {
    code: 'IdentityTooLarge',
    message: /20000 groups need \d+ bytes, 1048576 are allowed/,
  });
});

t.test('C087 a finished request with a foreign impersonation header is not sent', async (t) => {
  for (const name of [
    'Impersonate-User',
    'impersonate-group',
    'Impersonate-Extra-x',
    'Impersonate-Something',
    'Impersonate_Uid',
  ])
    t.throws(
      () => withImpersonationHeaders([[name, 'x']], alice, options),
      { code: 'InvariantBroken' },
      name,
    );
});

t.test('C088 a finished request with a credential of the client is not sent', async (t) => {
  for (const name of ['Authorization', 'X-Auth-Token', 'X-Remote-User', 'x_remote_group', 'X-Forwarded-Host'])
    t.throws(
      () => withImpersonationHeaders([[name, 'x']], alice, options),
      { code: 'InvariantBroken' },
      name,
    );
});

t.test('an identity without a user name is never sent', async (t) => {
  t.throws(() => withImpersonationHeaders([], { ...alice, username: '' }, options), {
    code: 'InvariantBroken',
  });
  t.throws(() => assertOnlyIdentity([], []), { code: 'InvariantBroken' });
});

t.test(
  'whatever a client sends, exactly the identity that Stonegate determined is sent upstream',
  async () => {
    const field = fc.tuple(
      fc.oneof(
        fc.string(),
        fc.constantFrom('Impersonate-User', 'Connection', 'X-Remote-User', 'Accept', 'authorization'),
      ),
      fc.oneof(fc.string(), fc.constantFrom('Impersonate-User', 'Impersonate-Group')),
    );
    fc.assert(
      fc.property(fc.array(field), (headers) => {
        let cleaned: readonly (readonly [string, string])[];
        try {
          cleaned = cleanClientHeaders(headers);
        } catch {
          return true;
        }
        const sent = withImpersonationHeaders(cleaned, alice, options);
        const identity = sent.filter(([name]) =>
          name.toLowerCase().replaceAll('_', '-').startsWith('impersonate'),
        );
        return JSON.stringify(identity) === JSON.stringify(impersonationHeaders(alice));
      }),
    );
  },
);
