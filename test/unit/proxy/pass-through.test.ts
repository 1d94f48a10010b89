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

t.test('C093 without a bearer token they are not acted for', async (t) => {
  t.throws(() => senderOf(ROBOT, undefined), { code: 'InvariantBroken' });
  t.throws(() => senderOf(ROBOT, { kind: 'x-auth-token', token: 'theirs' }), { code: 'InvariantBroken' });
  t.throws(() => senderOf(ROBOT, { kind: 'basic', userName: 'u', password: 'p' }), {
    code: 'InvariantBroken',
  });
});

t.test('everybody else is sent with Stonegate’s credential, whatever they brought', async (t) => {
  t.same(senderOf(keystoneIdentity('alice'), { kind: 'bearer', token: 'theirs' }), { kind: 'stonegate' });
});

t.test('of the client’s fields nothing that says who it is goes along', async (t) => {
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
  t.test(`a ${name} that is still there stops the request`, async (t) => {
    t.throws(() => passThrough([[name, 'x']], OPTIONS), { code: 'InvariantBroken' });
    t.throws(() => assertNoIdentity([[name, 'x']]), { code: 'InvariantBroken' });
  });

t.test('impersonation headers are refused, and never dropped from the request', async (t) => {
  const exchange = fakeExchange({ headers: [['Impersonate-User', 'reader']] });
  const outgoing = outgoingOf(openMode, ROBOT, exchange);
  const handled = { ...outgoing, impersonator: outgoing.user };
  t.throws(() => impersonate(handled, { maxHeaderBytes: 1 << 20, mode: openMode }), {
    code: 'ImpersonationForbidden',
  });
});
