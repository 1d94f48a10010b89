import t, { type Test } from 'tap';
import { obtainCredential } from '../../../../src/cli/login/credential.ts';
import { LoginError, type ObtainedCredential } from '../../../../src/cli/login/credential-source.ts';
import { openTokenCache } from '../../../../src/cli/login/token-cache.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeTerminal, type FakeTerminal } from '../../../support/fake-terminal.ts';

const HOUR = 3_600_000;

interface Given {
  readonly interactive?: boolean;
  /** Instead of a token of an hour. */
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
  const ask = async (options: { force?: boolean; terminal?: FakeTerminal } = {}) => {
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

const refused = async (): Promise<ObtainedCredential> => {
  throw new LoginError('wrong password');
};

t.test('a good token is used until shortly before its end', async (t) => {
  const { ask, terminal } = await setUp(t);
  t.equal(await ask(), 'token-1');
  terminal.clock.advance(HOUR - 5 * 60_000 - 1);
  t.equal(await ask(), 'token-1');
  terminal.clock.advance(1);
  t.equal(await ask(), 'token-2');
});

t.test('a token that lives for minutes is renewed in its last tenth', async (t) => {
  const life = 100_000;
  const { ask, seen, terminal } = await setUp(t, {
    obtain: async (count) => ({ token: `token-${count}`, expiresAt: terminal.clock.now() + life }),
  });
  await ask();
  terminal.clock.advance(89_999);
  await ask();
  t.equal(seen.length, 1);
  terminal.clock.advance(1);
  t.equal(await ask(), 'token-2');
});

t.test(
  'the source is shown the token before, though it has expired: it may hold a refresh token',
  async (t) => {
    const { ask, seen, terminal } = await setUp(t);
    await ask();
    terminal.clock.advance(2 * HOUR);
    await ask();
    t.same(seen, [undefined, 'token-1']);
  },
);

t.test('ten at once log in once', async (t) => {
  const { until, answer } = held();
  const { ask, seen, terminal } = await setUp(t, {
    async obtain() {
      await until;
      return { token: 'one', expiresAt: terminal.clock.now() + HOUR };
    },
  });
  const ten = Array.from({ length: 10 }, () => ask());
  await eventually(() => seen.length > 0);
  answer();
  t.same(new Set(await Promise.all(ten)), new Set(['one']));
  t.equal(seen.length, 1);
});

t.test('ten at once with a wrong password are refused once: ten would lock the account', async (t) => {
  const { until, answer } = held();
  const { ask, seen } = await setUp(t, { obtain: () => until.then(refused) });
  const ten = Array.from({ length: 10 }, () => ask().catch((error: Error) => error.message));
  await eventually(() => seen.length > 0);
  answer();
  t.same(new Set(await Promise.all(ten)), new Set(['wrong password']));
  t.equal(seen.length, 1);
});

t.test('who asks after a refusal tries again', async (t) => {
  const { ask, seen, terminal } = await setUp(t, { obtain: refused });
  await t.rejects(ask(), { message: 'wrong password' });
  terminal.clock.advance(1);
  await t.rejects(ask(), { message: 'wrong password' });
  t.equal(seen.length, 2);
});

t.test('who can be asked does not fail with those who could not', async (t) => {
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

t.test('a token that cannot be renewed yet serves to its end', async (t) => {
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
  t.equal(seen.length, 2, 'not tried again at once');
  terminal.clock.advance(30_001);
  t.equal(await ask(), 'old');
  t.equal(seen.length, 3);
  terminal.clock.advance(60_000);
  await t.rejects(ask(), { message: 'Keystone is down' });
});

t.test('--force logs in though the token is good', async (t) => {
  const { ask, terminal } = await setUp(t);
  await ask();
  terminal.clock.advance(1);
  t.equal(await ask({ force: true }), 'token-2');
});

t.test('--force does not hide a refusal behind the good token', async (t) => {
  const { ask, terminal } = await setUp(t, {
    async obtain(count) {
      if (count > 1) throw new LoginError('wrong password');
      return { token: 'old', expiresAt: terminal.clock.now() + HOUR };
    },
  });
  await ask();
  terminal.clock.advance(1);
  await t.rejects(ask({ force: true }), { message: 'wrong password' });
  t.equal(await ask(), 'old', 'and it stays good');
});

t.test('a mistake of ours gives the lock back too', async (t) => {
  const { ask } = await setUp(t, {
    async obtain(count) {
      if (count === 1) throw new TypeError('a mistake');
      return { token: 'one', expiresAt: Number.POSITIVE_INFINITY };
    },
  });
  await t.rejects(ask(), new TypeError('a mistake'));
  t.equal(await ask(), 'one');
});

t.test('Ctrl-C while another logs in ends the wait', async (t) => {
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

/** A source that refuses every login. */
async function setUpFailing(t: Test) {
  const terminal = createFakeTerminal();
  const cache = await openTokenCache(t.testdir(), ['alice']);
  let logins = 0;
  const source = {
    identity: ['alice'],
    async obtain(): Promise<never> {
      logins += 1;
      throw new LoginError(`wrong password\nnumber ${logins}`);
    },
  };
  const ask = (caller?: string) => obtainCredential({ source, cache, terminal, force: false, caller });
  return { terminal, ask, logins: () => logins };
}

t.test('kubectl that asks again after a failed login gets the same error', async (t) => {
  const { terminal, ask, logins } = await setUpFailing(t);
  for (let call = 0; call < 5; call += 1) {
    await t.rejects(ask('kubectl 1'), { message: 'wrong password\nnumber 1' });
    terminal.clock.advance(10);
  }
  t.equal(logins(), 1);
});

t.test('the next kubectl logs in again', async (t) => {
  const { terminal, ask, logins } = await setUpFailing(t);
  await t.rejects(ask('kubectl 1'));
  terminal.clock.advance(10);
  await t.rejects(ask('kubectl 2'));
  t.equal(logins(), 2);
});

t.test('a program that stays may try again after a while', async (t) => {
  const { terminal, ask, logins } = await setUpFailing(t);
  await t.rejects(ask('dashboard'));
  terminal.clock.advance(30_000);
  await t.rejects(ask('dashboard'));
  t.equal(logins(), 2);
});

t.test('a user who runs the command by hand may try again at once', async (t) => {
  const { terminal, ask, logins } = await setUpFailing(t);
  await t.rejects(ask());
  terminal.clock.advance(10);
  await t.rejects(ask());
  t.equal(logins(), 2);
});

t.test('a failure with a future time stamp, from a wrong clock, is ignored', async (t) => {
  const { terminal, ask, logins } = await setUpFailing(t);
  terminal.clock.advance(86_400_000);
  await t.rejects(ask('kubectl 1'));
  terminal.clock.advance(-86_400_000);
  await t.rejects(ask('kubectl 2'), { message: 'wrong password\nnumber 2' });
  t.equal(logins(), 2);
});
