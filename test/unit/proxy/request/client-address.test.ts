import t from 'tap';
import { clientAddresses, parseTrustedProxies } from '../../../../src/proxy/request/client-address.ts';

const trusted = parseTrustedProxies(['10.0.0.0/8', 'fd00::/8']);
const from = (peer: string | undefined, ...forwarded: string[]) =>
  clientAddresses(
    peer,
    forwarded.map((value) => ['X-Forwarded-For', value] as const),
    trusted,
  );

t.test('C050 behind a trusted proxy the client is the first untrusted address from the right', async (t) => {
  t.same(from('10.0.0.1', '9.9.9.9, 8.8.8.8, 203.0.113.7'), ['203.0.113.7', '10.0.0.1']);
  t.same(from('10.0.0.1', '9.9.9.9', '203.0.113.7, 10.1.1.1'), ['203.0.113.7', '10.1.1.1', '10.0.0.1']);
});

t.test('C051 garbage in the chain is never promoted: the peer is the client', async (t) =>
  t.same(from('10.0.0.1', '203.0.113.7, garbage, 10.0.0.9'), ['10.0.0.1']),
);

t.test('C052 with a chain of only trusted proxies, or without one, the client is the peer', async (t) => {
  t.same(from('10.0.0.1', '10.0.0.2, 10.0.0.3'), ['10.0.0.1']);
  t.same(from('10.0.0.1'), ['10.0.0.1']);
  t.same(from('10.0.0.1', ''), ['10.0.0.1']);
});

t.test('C053 IPv6 proxies and clients are recognized too', async (t) =>
  t.same(from('fd00::1', '2001:db8::42'), ['2001:db8::42', 'fd00::1']),
);

t.test('C054 an untrusted client cannot name another address', async (t) =>
  t.same(from('203.0.113.9', '1.2.3.4'), ['203.0.113.9']),
);

t.test('C125 C184 a peer without a valid address is not trusted', async (t) => {
  t.same(from(undefined, '1.2.3.4'), ['unknown']);
  t.same(from('not an address', '1.2.3.4'), ['unknown']);
});

t.test('an IPv4 peer of a dual-stack socket is the IPv4 address', async (t) =>
  t.same(from('::ffff:10.0.0.1', '203.0.113.7'), ['203.0.113.7', '10.0.0.1']),
);

t.test('a proxy that has already named itself is listed once', async (t) => {
  t.same(from('10.0.0.1', '203.0.113.7, 10.0.0.1'), ['203.0.113.7', '10.0.0.1']);
  t.same(from('10.0.0.1', '203.0.113.7, ::ffff:10.0.0.1'), ['203.0.113.7', '10.0.0.1']);
  t.same(from('10.0.0.1', '203.0.113.7, 10.0.0.1, 10.0.0.1'), ['203.0.113.7', '10.0.0.1', '10.0.0.1']);
  t.same(from('10.0.0.1', '203.0.113.7, 10.0.0.1, 10.0.0.2'), [
    '203.0.113.7',
    '10.0.0.1',
    '10.0.0.2',
    '10.0.0.1',
  ]);
});
