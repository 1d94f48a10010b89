import t from 'tap';
import { assertNoIdentity, passThrough, senderOf } from '../../../src/proxy/pass-through.ts';
import { cleanClientHeaders } from '../../../src/proxy/request/client-headers.ts';
import { impersonate } from '../../../src/proxy/stages.ts';
import { fakeExchange } from '../../support/fake-exchange.ts';
import { openMode } from '../../support/fake-pipeline.ts';
import { keystoneIdentity, upstreamIdentity } from '../../support/identities.ts';
import { outgoingOf } from '../../support/outgoing.ts';

const OPTIONS = { auditID: 'a-1', clientAddress: '192.0.2.7' };
const ROBOT = upstreamIdentity('system:serviceaccount:default:robot');

t.test('C093 a user of the API server without a bearer token is refused', async (t) => {
  t.throws(() => senderOf(ROBOT, undefined), { code: 'InvariantBroken' });
  t.throws(() => senderOf(ROBOT, { kind: 'x-auth-token', token: 'theirs' }), { code: 'InvariantBroken' });
  t.throws(() => senderOf(ROBOT, { kind: 'basic', userName: 'u', password: 'p' }), {
    code: 'InvariantBroken',
  });
});

t.test('requests of all other users are sent with Stonegate’s credential, whatever their own', async (t) =>
  t.same(senderOf(keystoneIdentity('alice'), { kind: 'bearer', token: 'theirs' }), { kind: 'stonegate' }),
);

t.test('no header field of the client that names a user is forwarded', async (t) => {
  const cleaned = cleanClientHeaders([
    ['Authorization', 'Bearer theirs'],
    ['X-Remote-User', 'admin'],
    ['X_Remote_Group', 'system:masters'],
    ['X-Auth-Token', 'gAAAAA'],
    ['X-Forwarded-For', '198.51.100.1'],
    ['Accept', 'application/json'],
  ]);
  t.same(passThrough(cleaned, OPTIONS), [
    ['Accept', 'application/json'],
    ['Audit-ID', 'a-1'],
    ['X-Forwarded-For', '192.0.2.7'],
  ]);
});

for (const name of ['Impersonate-User', 'X-Remote-User', 'X-Auth-Token'])
  t.test(`a request that still has ${name} is not sent`, async (t) => {
    t.throws(() => passThrough([[name, 'x']], OPTIONS), { code: 'InvariantBroken' });
    t.throws(() => assertNoIdentity([[name, 'x']]), { code: 'InvariantBroken' });
  });

t.test('impersonation headers are refused, never silently dropped', async (t) => {
  const exchange = fakeExchange({ headers: [['Impersonate-User', 'reader']] });
  const outgoing = outgoingOf(openMode, ROBOT, exchange);
  const handled = { ...outgoing, impersonator: outgoing.user };
  t.throws(() => impersonate(handled, { maxHeaderBytes: 1 << 20, mode: openMode }), {
    code: 'ImpersonationForbidden',
  });
});
