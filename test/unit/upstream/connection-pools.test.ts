import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createConnectionPools } from '../../../src/upstream/connection-pools.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { createAuthority, type KeyPair } from '../../support/tls/authority.ts';

const CERTIFICATE = await (await createAuthority()).client('stonegate');
const THEIRS = { kind: 'client', token: 'theirs' } as const;

function poolsFor(credential: { token: string } | KeyPair, passThrough: boolean) {
  return createConnectionPools({
    connection: { server: 'https://127.0.0.1:1', connectTimeout: 1 },
    credential,
    passThrough,
    queueTimeout: 1,
    clock: createFakeClock(),
    logger: silentLogger,
  });
}

t.test(
  'if Stonegate has a token, all share connections, and each request carries its sender’s token',
  async (t) => {
    const { select } = poolsFor({ token: 'ours' }, true);
    const own = select({ kind: 'stonegate' });
    const theirs = select(THEIRS);
    t.match([own.token, theirs.token], ['ours', 'theirs']);
    t.equal(own.short, theirs.short);
    t.equal(own.connection.certificate, undefined);
  },
);

t.test('without pass-through no client’s token is sent', async (t) => {
  for (const credential of [{ token: 'ours' }, CERTIFICATE])
    t.throws(() => poolsFor(credential, false).select(THEIRS), { code: 'InvariantBroken' });
});

t.test('C086 an empty token is no token', async (t) =>
  t.throws(() => poolsFor({ token: 'ours' }, true).select({ kind: 'client', token: '' }), {
    code: 'InvariantBroken',
  }),
);

t.test('an unusable certificate is refused at the start', async (t) =>
  t.throws(() => poolsFor({ ...CERTIFICATE, cert: 'none' }, false), /PEM/),
);
