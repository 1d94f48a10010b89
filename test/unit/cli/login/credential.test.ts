import t, { type Test } from 'tap';
import { obtainCredential } from '../../../../src/cli/login/credential.ts';
import { LoginError, type ObtainedCredential } from '../../../../src/cli/login/credential-source.ts';
import { openTokenCache } from '../../../../src/cli/login/token-cache.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeTerminal, type FakeTerminal } from '../../../support/fake-terminal.ts';
import { eachRow } from '../../../support/rows.ts';

const HOUR = 3_600_000;

interface Given {
  readonly interactive?: boolean;
  /** Replaces the default source, whose tokens are valid for an hour. */
  readonly obtain?: (count: number) => Promise<ObtainedCredential>;
}

async function setUp(t: Test, { interactive = false, obtain }: Given = {}) {
  const terminal = createFakeTerminal({ interactive });
  const cache = await openTokenCache(t.testdir(), ['alice']);
  const seen: (string | undefined)[] = [];
  const source = {
    identity: ['alice'],
    async obtain(_terminal: unknown, previous: ObtainedCredential | undefined) {
      seen.push(previous?.token);
      if (obtain !== undefined) return obtain(seen.length);
      return { token: `token-${seen.length}`, expiresAt: terminal.clock.now() + HOUR };
    },
  };
  const ask = async (options: { force?: boolean; terminal?: FakeTerminal; caller?: string } = {}) => {
    const { token } = await obtainCredential({ source, cache, terminal, force: false, ...options });
    return token;
  };
  return { terminal, cache, ask, seen };
}

/** A login that waits until the test continues it. */
function held() {
  let answer: (() => void) | undefined;
  const until = new Promise<void>((resolve) => {
    answer = resolve;
  });
  return { until, answer: () => answer?.() };
}

const refused = async () => {
  throw new LoginError('wrong password');
};

for (const [life, early] of [
  [HOUR, 5 * 60_000],
  [100_000, 10_000],
] as const)
  t.test(`a token valid for ${life} ms is used until ${early} ms before it expires`, async (t) => {
    const { ask, seen, terminal } = await setUp(t, {
      obtain: async (count) => ({ token: `token-${count}`, expiresAt: terminal.clock.now() + life }),
    });
    t.equal(await ask(), 'token-1');
    terminal.clock.advance(life - early - 1);
    t.equal(await ask(), 'token-1');
    terminal.clock.advance(1);
    t.equal(await ask(), 'token-2');
    terminal.clock.advance(2 * life);
    await ask();
    t.same(seen, [undefined, 'token-1', 'token-2'], 'the source gets the old token, even an expired one');
  });

for (const [outcome, obtain] of [
  ['one', async () => ({ token: 'one', expiresAt: Number.MAX_SAFE_INTEGER })],
  ['wrong password', refused],
] as const)
  t.test(
    `ten concurrent calls log in once, and all get "${outcome}", since ten refusals could lock the account`,
    async (t) => {
      const { until, answer } = held();
      const { ask, seen } = await setUp(t, { obtain: () => until.then(obtain) });
      const ten = Array.from({ length: 10 }, () => ask().catch((error: Error) => error.message));
      await eventually(() => seen.length > 0);
      answer();
      t.same(new Set(await Promise.all(ten)), new Set([outcome]));
      t.equal(seen.length, 1);
    },
  );

t.test('a call that can prompt the user does not fail with one that cannot', async (t) => {
  const { until, answer } = held();
  const user = createFakeTerminal({ interactive: true });
  const { ask, seen } = await setUp(t, {
    async obtain(count) {
      if (count > 1) return { token: 'entered', expiresAt: user.clock.now() + HOUR };
      await until;
      throw new LoginError('the user cannot be asked');
    },
  });
  const script = t.rejects(ask(), { message: 'the user cannot be asked' });
  await eventually(() => seen.length > 0);
  const token = ask({ terminal: user });
  answer();
  await script;
  t.equal(await token, 'entered');
});

t.test('a token that cannot be renewed is used until it expires', async (t) => {
  const { ask, seen, terminal } = await setUp(t, {
    async obtain(count) {
      if (count > 1) throw new LoginError('Keystone is down');
      return { token: 'old', expiresAt: terminal.clock.now() + HOUR };
    },
  });
  await ask();
  terminal.clock.advance(HOUR - 60_000);
  t.equal(await ask(), 'old');
  t.match(terminal.said, [/^cannot log in again: Keystone is down; the current token is valid until /]);
  t.equal(await ask(), 'old');
  t.equal(seen.length, 2, 'the renewal is not retried at once');
  terminal.clock.advance(30_001);
  t.equal(await ask(), 'old');
  t.equal(seen.length, 3);
  terminal.clock.advance(60_000);
  await t.rejects(ask(), { message: 'Keystone is down' });
});

t.test('--force logs in although the token is valid, and reports a refusal', async (t) => {
  const { ask, terminal } = await setUp(t, {
    async obtain(count) {
      if (count > 2) throw new LoginError('wrong password');
      return { token: `token-${count}`, expiresAt: terminal.clock.now() + HOUR };
    },
  });
  await ask();
  terminal.clock.advance(1);
  t.equal(await ask({ force: true }), 'token-2');
  terminal.clock.advance(1);
  await t.rejects(ask({ force: true }), { message: 'wrong password' });
  t.equal(await ask(), 'token-2', 'the earlier token stays valid');
});

t.test('Ctrl-C ends the wait for the login of another process', async (t) => {
  const { until, answer } = held();
  const { ask, seen, terminal } = await setUp(t, {
    obtain: async () => {
      await until;
      return { token: 'one', expiresAt: terminal.clock.now() + HOUR };
    },
  });
  const first = ask();
  await eventually(() => seen.length > 0);
  const waiting = createFakeTerminal();
  const second = ask({ terminal: waiting });
  waiting.interrupt();
  await t.rejects(second);
  answer();
  t.equal(await first, 'one');
});

/** Who calls first, who calls then, after how many milliseconds, and how many logins there are. */
await eachRow(
  `
  a kubectl process, which calls the plugin five times, gets the same error | kubectl 1 | kubectl 1 | 10 | 1
  the next kubectl process logs in | kubectl 1 | kubectl 2 | 10 | 2
  a long-running program may try again after a while | dashboard | dashboard | 30000 | 2
  a user at a terminal may try again at once | | | 1 | 2
  a record with a future time stamp, from a wrong clock, is ignored | kubectl 1 | kubectl 2 | -86400000 | 2`,
  (what, first, then, pause, logins) =>
    t.test(`after a refused login: ${what}`, async (t) => {
      const { ask, seen, terminal } = await setUp(t, {
        obtain: async (count) => {
          throw new LoginError(`wrong password\nnumber ${count}`);
        },
      });
      await t.rejects(ask({ ...(first && { caller: first }) }));
      terminal.clock.advance(Number(pause));
      const message = `wrong password\nnumber ${logins}`;
      await t.rejects(ask({ ...(then && { caller: then }) }), { message });
      t.equal(seen.length, Number(logins));
    }),
);
