/** Polling of revocation events: its requests, what it drops, and what happens while Keystone is down. */
import t from 'tap';
import { keystoneUnavailable } from '../../../../src/identity/keystone/keystone-http.ts';
import { createRevocations } from '../../../../src/identity/keystone/keystone-revocations.ts';
import type { RevocationEvent } from '../../../../src/tenancy/keystone-v3.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const INTERVAL = 5_000;

interface Given {
  /** Difference of Keystone's clock from Stonegate's, in milliseconds. */
  readonly skew?: number;
  readonly reach?: number;
}

function setUp({ skew = 0, reach = 0 }: Given = {}) {
  const clock = createFakeClock(START);
  const asked: string[] = [];
  const carriedOut: RevocationEvent[] = [];
  const logged: string[] = [];
  let answers: () => unknown = () => [];
  let refuse: Error | undefined;
  let refusedUser: string | undefined;
  const say = (_: unknown, message: string) => void logged.push(message);
  const revocations = createRevocations({
    service: {
      async get({ path }) {
        asked.push(path.split('since=')[1] ?? path);
        const events = answers();
        if (events === undefined) return undefined;
        return { status: 200, body: { events }, token: undefined, date: clock.now() + skew };
      },
    },
    interval: INTERVAL,
    reach,
    async revoked(event) {
      if (refuse && (refusedUser ?? event.userID) === event.userID) throw refuse;
      carriedOut.push(event);
    },
    clock,
    random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
    logger: { debug: say, info: say, warn: say, error: say },
  });
  /** Resolves when the timer of the next request is set. */
  const settled = () => eventually(() => clock.pending === 1);
  return {
    clock,
    asked,
    carriedOut,
    logged,
    revocations,
    answer: (next: () => unknown) => {
      answers = next;
    },
    /** @param userID of the only event that is refused; without it all are */
    refuseWith: (error: Error | undefined, userID?: string) => {
      refuse = error;
      refusedUser = userID;
    },
    async start() {
      revocations.start();
      await settled();
    },
    async next(pause = clock.untilNext) {
      clock.advance(pause);
      await settled();
    },
  };
}

const event = (fields: object = { user_id: 'u' }) => ({
  issued_before: '2026-11-21T12:00:00.000000Z',
  revoked_at: '2026-11-21T12:00:00.000000Z',
  ...fields,
});

t.test('the first request covers the time of all cached entries', async (t) => {
  const { start, asked } = setUp({ reach: 600_000 });
  await start();
  t.same(asked, ['2026-11-21T11:49:00Z']);
});

t.test('each further request overlaps the last one by a minute, by the clock of Keystone', async (t) => {
  const ahead = setUp({ skew: 600_000 });
  await ahead.start();
  await ahead.next();
  t.equal(ahead.asked[1], '2026-11-21T12:09:00Z', "Keystone's clock is ten minutes ahead");
  t.equal(ahead.clock.now() - START, INTERVAL);
});

t.test('every kind of id is read, and an event that is listed twice is carried out once', async (t) => {
  const { start, next, answer, carriedOut } = setUp();
  answer(() => [
    event({ audit_id: 'a' }),
    event({ audit_chain_id: 'c' }),
    event({ 'OS-TRUST:trust_id': 't' }),
    event({ user_id: 'u', project_id: 'p', domain_id: 'd' }),
  ]);
  await start();
  await next();
  t.match(carriedOut, [
    { auditID: 'a' },
    { auditChainID: 'c' },
    { trustID: 't' },
    { userID: 'u', projectID: 'p', domainID: 'd', revokedAt: START },
  ]);
  t.equal(carriedOut.length, 4);
});

t.test('fields of an event that are not understood widen it', async (t) => {
  const { start, answer, carriedOut } = setUp();
  answer(() => [event({ user_id: 7, role_id: 'r' })]);
  await start();
  t.match(carriedOut, [{ userID: undefined, auditID: undefined }]);
});

t.test('while Keystone is down, pauses grow, one line is logged, and no event is missed', async (t) => {
  const { start, next, answer, carriedOut, asked, logged, clock } = setUp();
  await start();
  const before = asked.length;
  answer(() => {
    throw keystoneUnavailable('connection refused');
  });
  const pauses: number[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    await next();
    pauses.push(clock.untilNext);
  }
  t.same(pauses, [3_750, 7_500, 15_000, 30_000, 45_000, 45_000]);
  t.equal(logged.length, 1);
  answer(() => [event()]);
  await next();
  t.equal(new Set(asked.slice(before)).size, 1, 'it requests all events since the last response');
  t.equal(carriedOut.length, 1);
  t.match(logged[1], 'are followed again');
  t.equal(clock.untilNext, INTERVAL);
});

t.test('an event that cannot be carried out does not delay others', async (t) => {
  const { start, next, answer, carriedOut, refuseWith, asked } = setUp();
  answer(() => ['u', 'v', 'w'].map((user_id) => event({ user_id })));
  refuseWith(new Error('Redis did not take the drop'), 'u');
  await start();
  t.match(carriedOut, [{ userID: 'v' }, { userID: 'w' }]);
  refuseWith(undefined);
  await next();
  t.match(carriedOut, [{ userID: 'v' }, { userID: 'w' }, { userID: 'u' }]);
  t.equal(asked[0], asked[1]);
});

t.test(
  'a malformed response and a Keystone without revocation events are logged once and retried',
  async (t) => {
    for (const bad of ['events', [event({ revoked_at: 'yesterday' })], undefined]) {
      const { start, next, answer, carriedOut, logged } = setUp();
      answer(() => bad);
      await start();
      await next();
      t.equal(logged.length, 1, JSON.stringify(bad));
      t.equal(carriedOut.length, 0);
    }
  },
);

t.test('after a stop, no request is sent and no failure is logged', async (t) => {
  const { start, revocations, clock, asked } = setUp();
  await start();
  revocations.stop();
  t.equal(clock.pending, 0);
  clock.advance(600_000);
  t.equal(asked.length, 1);
  const late = setUp();
  late.answer(() => {
    late.revocations.stop();
    throw keystoneUnavailable('closed');
  });
  late.revocations.start();
  await eventually(() => late.asked.length === 1);
  t.same(late.logged, []);
});
