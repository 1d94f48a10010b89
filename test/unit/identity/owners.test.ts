/** Which user owns an access token. */
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
  'a user with an id still owns their tokens after a rename, and a later user of the name does not',
  async (t) => {
    t.equal(ownerKey(user('alice', '1', ISSUER)), ownerKey(user('alice.smith', '1', ISSUER)));
    t.not(ownerKey(user('alice', '1', ISSUER)), ownerKey(user('alice', '2', ISSUER)));
  },
);

t.test(
  'a user without an id whose name equals the id of another user does not own the tokens of that user',
  async (t) => {
    t.not(ownerKey(user('4711', '', ISSUER)), ownerKey(user('alice', '4711', ISSUER)));
  },
);

t.test('users of a token file with the same uid do not share tokens', async (t) => {
  t.not(ownerKey(user('alice', '1000')), ownerKey(user('mallory', '1000')));
});
