/**
 * A flood of unknown credentials against the whole program: Keystone gets a bounded number of requests, and
 * known users are served as usual.
 */
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { askOnce } from '../support/open-request.ts';
import { startStonegate } from '../support/stonegate.ts';

const NAMESPACES = '/api/v1/namespaces';
const VALIDATION = 'GET /v3/auth/tokens';
/** @param unknownCredentials settings of `limits.unknownCredentials` */
async function setUp(t: Test, unknownCredentials: object = {}) {
  const configuration = {
    limits: {
      // The machine may be slow: no credential may be refused because its validation waited.
      unknownCredentials: { queueTimeout: '60s', ...unknownCredentials },
      // A thousand requests of one tenant wait for the API server at once.
      tenantQueue: { requests: 1_000, bytes: 8_388_608 },
    },
  };
  const stonegate = await startStonegate(t, { configuration });
  const { app, authority, keystone } = stonegate;
  // Stonegate's own first request to Keystone is over: later requests are the test's.
  await eventually(async () => /backend="keystone",result="ok"/.test(await app.metrics.text()));
  const sessions: ClientHttp2Session[] = [];
  t.teardown(() => {
    for (const session of sessions) session.destroy();
  });
  return {
    ...stonegate,
    destination: { port: app.address.port, ca: authority.cert },
    validations: () => keystone.calls.filter((call) => call === VALIDATION).length,
    /** Sends all tokens at once, a hundred on each connection. @returns the number of responses by status */
    async flood(tokens: readonly string[], from = '127.0.0.1') {
      const counts = new Map<number, number>();
      const asked: Promise<void>[] = [];
      for (let start = 0; start < tokens.length; start += 100) {
        const localAddress = { localAddress: from };
        const session = connect(stonegate.url, { ca: authority.cert, ...localAddress });
        sessions.push(session);
        for (const token of tokens.slice(start, start + 100)) {
          const stream = session.request({ ':path': NAMESPACES, authorization: `Bearer ${token}` });
          stream.resume();
          asked.push(
            once(stream, 'response').then(([{ ':status': status }]) => {
              counts.set(status, (counts.get(status) ?? 0) + 1);
            }),
          );
        }
      }
      await Promise.all(asked);
      return counts;
    },
  };
}

const unknownToken = (n: number) => `gAAAAA${'x'.repeat(150)}${n}`;
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

t.test(
  'C244, D514: Keystone gets a bounded number of a flood of bad tokens, and known users are served',
  async (t) => {
    const { ask, app, flood, keystoneToken, validations } = await setUp(t, {
      perSource: { perSecond: 0.001, burst: 20 },
    });
    const alice = keystoneToken('alice');
    t.equal((await ask(alice, NAMESPACES)).status, 200);
    const before = validations();
    const [counts, ...known] = await Promise.all([
      flood(numbers(1_000).map(unknownToken)),
      ...numbers(20).map(() => ask(alice, NAMESPACES)),
    ]);
    t.same(new Set(known.map(({ status }) => status)), new Set([200]));
    t.equal(counts.get(401), 19, 'the rest of the burst after the first login');
    t.equal(counts.get(429), 981);
    t.equal(validations() - before, 19);
    t.match(await app.metrics.text(), 'stonegate_unknown_credentials_limited_total{reason="source"} 981');
  },
);

t.test(
  'of a flood from two addresses Keystone gets a bounded number at once; the rest wait or are refused',
  async (t) => {
    const { ask, app, flood, keystone, keystoneToken, destination } = await setUp(t, {
      concurrent: 4,
      queue: 8,
      queueTimeout: '1m',
    });
    const alice = keystoneToken('alice');
    t.equal((await ask(alice, NAMESPACES)).status, 200);
    keystone.fault = 'hang';
    const floods = [1, 2].map((n) =>
      flood(
        numbers(50).map((m) => unknownToken(n * 100 + m)),
        `127.0.1.${n}`,
      ),
    );
    const total = 'stonegate_unknown_credentials_limited_total{reason="total"} 88';
    await eventually(async () => (await app.metrics.text()).includes(total));
    await eventually(() => keystone.hanging >= 4);
    t.equal((await ask(alice, NAMESPACES)).status, 200, 'known users do not wait in the queue');

    const bob = askOnce({ ...destination, from: '127.0.2.1' }, keystoneToken('bob'), NAMESPACES);
    await eventually(async () => !(await app.metrics.text()).includes(total));
    t.equal(keystone.hanging, 4);
    keystone.release();
    t.equal((await bob).status, 200, 'a client at another address gets a place in the queue');
    const counts = (await Promise.all(floods)).flatMap((each) => [...each]);
    const count = (status: number) =>
      counts.filter(([each]) => each === status).reduce((sum, [, n]) => sum + n, 0);
    t.equal(count(401), 11);
    t.equal(count(429), 89);
  },
);
