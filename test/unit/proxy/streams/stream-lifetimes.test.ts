import t from 'tap';
import type { Drops } from '../../../../src/cache/drops.ts';
import { unauthorized } from '../../../../src/errors/status-error.ts';
import { createTokenScope } from '../../../../src/features/tokens/scope.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import type { OpenStream, StreamCredential, StreamFacts } from '../../../../src/proxy/streams/open-stream.ts';
import { StreamLifetimes } from '../../../../src/proxy/streams/stream-lifetimes.ts';
import { StreamRegistry } from '../../../../src/proxy/streams/stream-registry.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { streamFacts } from '../../../support/stream-facts.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SETTINGS = { endWithCredential: true, recheck: MINUTE, tunnelMaxAge: 24 * HOUR };

function setUp({ fraction = 0, settings = SETTINGS } = {}) {
  const clock = createFakeClock(0);
  const random = { fraction: () => fraction };
  const registry = new StreamRegistry({
    limits: { perUser: 10_000, perTenant: 10_000 },
    clock,
    random,
    telemetry: noTelemetry,
  });
  const dropped: string[] = [];
  const drops: Drops = {
    get count() {
      return dropped.length;
    },
    watch(tags) {
      const since = dropped.length;
      const isDropped = () => dropped.slice(since).some((tag) => tags.includes(tag));
      return {
        get isDropped() {
          return isDropped();
        },
        confirmDropped: async () => isDropped(),
      };
    },
  };
  const checked: StreamCredential[] = [];
  const check = { now: async (_: StreamCredential) => {}, permits: (_: OpenStream) => true };
  const lifetimes = new StreamLifetimes({
    registry,
    settings,
    drops,
    recheck(credential) {
      checked.push(credential);
      return check.now(credential);
    },
    permits: (stream) => check.permits(stream),
    clock,
    random,
    logger: silentLogger,
  });
  /** Advances the clock second by second, so that actions that are due run in between. */
  const pass = async (milliseconds: number) => {
    for (let passed = 0; passed < milliseconds; passed += 1_000) {
      clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { clock, registry, lifetimes, drops, dropped, checked, check, pass };
}

t.test('a credential is validated once for all its streams, and once per recheck interval', async (t) => {
  const { registry, checked, pass } = setUp();
  for (let i = 0; i < 100; i += 1) registry.open(streamFacts());
  registry.open(streamFacts({ token: 'another' }));
  await pass(MINUTE - 1_000);
  t.equal(checked.length, 0);
  await pass(1_000);
  t.equal(checked.length, 2);
  await pass(MINUTE);
  t.equal(checked.length, 4);
});

t.test('many credentials of one source are validated a few at a time', async (t) => {
  const { registry, checked, check, pass } = setUp();
  const { promise, resolve } = Promise.withResolvers<void>();
  check.now = () => promise;
  for (let i = 0; i < 50; i += 1) registry.open(streamFacts({ token: `token ${i}` }));
  await pass(MINUTE);
  t.equal(checked.length, 4);
  resolve();
  await pass(1_000);
  t.equal(checked.length, 50, 'the other credentials follow');
});

t.test(
  'when a credential expires, watches and logs end spread over seconds; tunnels stay open',
  async (t) => {
    const { registry, pass, checked } = setUp({ fraction: 0.5 });
    const facts = { expiresAt: HOUR };
    const watch = registry.open(streamFacts(facts));
    const log = registry.open(streamFacts({ ...facts, kind: 'log' }));
    const exec = registry.open(streamFacts({ ...facts, kind: 'exec' }));
    await pass(HOUR + 4_000);
    t.notOk(watch.cancelled, 'the spread of five seconds is not over');
    const before = checked.length;
    await pass(1_000);
    t.same([watch.reason, log.reason, exec.reason], ['expired', 'expired', undefined]);
    t.ok(watch.clean);
    t.notOk(log.clean);
    await pass(10 * MINUTE);
    t.equal(checked.length, before, 'an expired credential is not validated');
    t.equal(exec.reason, undefined);
  },
);

t.test('a failing validation is retried, and the stream ends after one more recheck interval', async (t) => {
  const { registry, check, pass, checked } = setUp();
  const stream = registry.open(streamFacts());
  check.now = async () => {
    throw new Error('Keystone is down');
  };
  await pass(MINUTE + 59_000);
  t.notOk(stream.cancelled);
  t.ok(checked.length > 2, 'the validation is retried');
  check.now = async () => {};
  await pass(MINUTE);
  t.notOk(stream.cancelled, 'the validation succeeded again');
  check.now = async () => {
    throw unauthorized();
  };
  await pass(3 * MINUTE);
  t.equal(stream.reason, 'unverified');
});

t.test(
  'an outage of the backend ends no tunnel; a refusal in the first validation after it does',
  async (t) => {
    const { registry, check, pass } = setUp();
    const exec = registry.open(streamFacts({ kind: 'exec' }));
    const watch = registry.open(streamFacts());
    check.now = async () => {
      throw new Error('Keystone is down');
    };
    await pass(60 * MINUTE);
    t.same([exec.reason, watch.reason], [undefined, 'unverified']);
    check.now = async (credential) => credential.end('refused');
    await pass(MINUTE);
    t.equal(exec.reason, 'refused');
  },
);

t.test('the end of an access token ends all that it has open, whatever the configuration says', async (t) => {
  const settings = { ...SETTINGS, endWithCredential: false };
  const { registry, pass } = setUp({ settings });
  const kinds = ['watch', 'log', 'exec', 'attach', 'portforward', 'proxy'] as const;
  const open = (facts: StreamFacts) => registry.open(facts);
  const accessToken = createTokenScope('abcd1234', { scopes: ['session', '+exec'] }, 'acme');
  const ofToken = kinds.map((kind) => {
    const facts = streamFacts({ kind, token: 'sgt_', expiresAt: HOUR });
    return open({ ...facts, identity: { ...facts.identity, accessToken } });
  });
  const others = kinds.map((kind) => open(streamFacts({ kind, token: 'other', expiresAt: HOUR })));
  await pass(HOUR - 1_000);
  t.ok([...ofToken, ...others].every(({ cancelled }) => !cancelled));
  await pass(1_000);
  t.same(
    ofToken.map(({ reason }) => reason),
    kinds.map(() => 'expired'),
  );
  t.ok(others.every(({ cancelled }) => !cancelled));
});

t.test(
  'a drop by an operator ends all streams of the user or tenant at once, whatever their kind',
  async (t) => {
    for (const tag of ['end-streams:user:alice', 'end-streams:user:u1', 'end-streams:tenant:acme']) {
      const { registry, dropped, pass, checked } = setUp();
      const streams = [registry.open(streamFacts()), registry.open(streamFacts({ kind: 'exec' }))];
      const bob = registry.open({
        ...streamFacts({ username: 'bob', tenant: 'globex' }),
        identity: { ...streamFacts().identity, uid: 'u2' },
      });
      dropped.push(tag);
      await pass(1_000);
      t.same(
        streams.map(({ reason }) => reason),
        ['dropped', 'dropped'],
        tag,
      );
      t.notOk(bob.cancelled);
      for (const stream of streams) registry.close(stream);
      const next = registry.open(streamFacts());
      await pass(2 * MINUTE);
      t.notOk(next.cancelled, 'a stream that is opened after the drop continues');
      t.ok(checked.length > 0);
    }
  },
);

t.test(
  'after a revocation, credentials are validated at once, and streams of expired ones end',
  async (t) => {
    const { registry, dropped, pass, checked } = setUp();
    const valid = registry.open(streamFacts({ kind: 'exec', expiresAt: HOUR }));
    dropped.push('user:u1');
    await pass(1_000);
    await pass(1_000);
    t.equal(checked.length, 1, 'long before the recheck interval ends');
    t.notOk(valid.cancelled);
    await pass(HOUR);
    dropped.push('user:somebody-else');
    await pass(2_000);
    t.notOk(valid.cancelled, 'the credential expired, but the revocation does not concern it');
    dropped.push('user:u1');
    await pass(1_000);
    t.equal(valid.reason, 'dropped');
  },
);

t.test('after a reload, so is a new stream whose request was authenticated before the reload', async (t) => {
  const { clock, registry, lifetimes, drops, checked, pass } = setUp({ fraction: 0.9 });
  await pass(1_000);
  lifetimes.reloaded({ ...SETTINGS, recheck: HOUR }, drops);
  await pass(2_000);
  registry.open(streamFacts({ token: 'before', receivedAt: 500 }));
  registry.open(streamFacts({ token: 'after', receivedAt: clock.now() }));
  await pass(5_000);
  t.match(checked, { length: 1, 0: { credential: { token: 'before' } } });
});

t.test(
  'after a drop, a new stream whose request was authenticated before the drop is validated',
  async (t) => {
    const settings = { ...SETTINGS, recheck: HOUR };
    const { clock, registry, dropped, checked, pass } = setUp({ fraction: 0.9, settings });
    const earlier = registry.open(streamFacts({ token: 'open' }));
    await pass(1_000);
    dropped.push('user:another');
    await pass(10_000);
    t.match(checked.splice(0), { length: 1 }, 'the open stream is validated');
    registry.close(earlier);
    registry.open(streamFacts({ token: 'before', receivedAt: 500 }));
    registry.open(streamFacts({ token: 'after', receivedAt: clock.now() }));
    await pass(5_000);
    t.match(checked, { length: 1, 0: { credential: { token: 'before' } } });
  },
);

t.test('if a validation that began before a reload fails, the next validation is not delayed', async (t) => {
  const { registry, lifetimes, drops, checked, check, pass } = setUp({ fraction: 0.9 });
  const former = Promise.withResolvers<void>();
  check.now = () => former.promise;
  registry.open(streamFacts());
  await pass(2 * MINUTE);
  t.equal(checked.length, 1);
  lifetimes.reloaded({ ...SETTINGS, recheck: HOUR }, drops);
  check.now = async () => {};
  former.reject(new Error('its backend is closed'));
  await pass(6_000);
  t.equal(checked.length, 2);
});

t.test('no timer runs without streams, nor after the process has begun to stop', async (t) => {
  const { clock, registry, lifetimes, pass } = setUp();
  t.equal(clock.pending, 0);
  const stream = registry.open(streamFacts());
  t.equal(clock.pending, 1);
  registry.close(stream);
  await pass(1_000);
  t.equal(clock.pending, 0);
  registry.open(streamFacts());
  lifetimes.stop();
  t.equal(clock.pending, 0);
});
