import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { createDepartures } from '../../../src/upstream/connection-pools.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { createAuthority, type KeyPair } from '../../support/tls/authority.ts';

const CERTIFICATE = await (await createAuthority()).client('stonegate');
const THEIRS = { kind: 'client', token: 'theirs' } as const;

function departuresOf(credential: { token: string } | KeyPair, passThrough: boolean) {
  return createDepartures({
    connection: { server: 'https://127.0.0.1:1', connectTimeout: 1 },
    credential,
    passThrough,
    patience: 1,
    context: { clock: createFakeClock(), logger: silentLogger, telemetry: noTelemetry },
  });
}

t.test('with a token of ours, a connection is nobody’s, and each request carries its sender’s', async (t) => {
  const { of } = departuresOf({ token: 'ours' }, true);
  const own = of({ kind: 'stonegate' });
  const theirs = of(THEIRS);
  t.match([own.token, theirs.token], ['ours', 'theirs']);
  t.equal(own.brief, theirs.brief);
  t.equal(own.connection.certificate, undefined);
});

t.test('with a certificate of ours, what a client sends has no connection in common with us', async (t) => {
  const { of } = departuresOf(CERTIFICATE, true);
  const own = of({ kind: 'stonegate' });
  const theirs = of(THEIRS);
  t.equal(own.token, undefined);
  t.same(own.connection.certificate, CERTIFICATE);
  t.equal(theirs.token, 'theirs');
  t.equal(theirs.connection.certificate, undefined);
  t.not(own.brief.pool, theirs.brief.pool);
  t.not(own.lasting.pool, theirs.lasting.pool);
});

t.test('where nobody goes through, a client’s token is sent nowhere', async (t) => {
  for (const credential of [{ token: 'ours' }, CERTIFICATE])
    t.throws(() => departuresOf(credential, false).of(THEIRS), { code: 'InvariantBroken' });
});

t.test('C086 an empty token is no token', async (t) => {
  t.throws(() => departuresOf({ token: 'ours' }, true).of({ kind: 'client', token: '' }), {
    code: 'InvariantBroken',
  });
});

t.test('a certificate of ours that cannot be used is found at once, not by those who ask', async (t) => {
  t.throws(() => departuresOf({ ...CERTIFICATE, cert: 'none' }, false), /PEM/);
});
