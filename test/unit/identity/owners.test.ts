/** Who owns a token: another user never does. */
import t from 'tap';
import { ownerKey } from '../../../src/identity/owners.ts';
import type { Identity } from '../../../src/tenancy/identity.ts';

function user(name: string, uid: string, issuer?: string): Identity {
  return {
    authenticator: issuer === undefined ? 'token-file' : 'jwt',
    subject: { kind: 'claim', name },
    tenantOrigin: { from: 'issuer', tenant: 'acme' },
    uid,
    groups: [],
    extra: {},
    expiresAt: 0,
    auditAnnotations: issuer === undefined ? {} : { 'stonegate.dev/issuer': issuer },
  };
}

const ISSUER = 'https://login.example.com';

t.test(
  'with an id a user keeps what they own under another name, and leaves nothing to the next',
  async (t) => {
    t.equal(ownerKey(user('alice', '1', ISSUER)), ownerKey(user('alice.smith', '1', ISSUER)));
    t.not(ownerKey(user('alice', '1', ISSUER)), ownerKey(user('alice', '2', ISSUER)));
  },
);

t.test(
  'a user without an id who is called like the id of another does not own what the other owns',
  async (t) => {
    t.not(ownerKey(user('4711', '', ISSUER)), ownerKey(user('alice', '4711', ISSUER)));
  },
);

t.test('users of one file may have the same uid and own nothing together', async (t) => {
  t.not(ownerKey(user('alice', '1000')), ownerKey(user('mallory', '1000')));
});
