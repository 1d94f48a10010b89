import t, { type Test } from 'tap';
import { obtainCredential } from '../../../../src/cli/login/credential.ts';
import { LoginError } from '../../../../src/cli/login/credential-source.ts';
import { openTokenCache } from '../../../../src/cli/login/token-cache.ts';
import { createFakeTerminal } from '../../../support/fake-terminal.ts';

/** Somebody whose logins all fail. */
async function setUp(t: Test) {
  const terminal = createFakeTerminal();
  const cache = await openTokenCache(t.testdir(), ['somebody']);
  let logins = 0;
  const source = {
    identity: ['somebody'],
    async obtain(): Promise<never> {
      logins += 1;
      throw new LoginError(`wrong password\nnumber ${logins}`);
    },
  };
  const ask = (caller?: string) => obtainCredential({ source, cache, terminal, force: false, caller });
  return { terminal, ask, logins: () => logins };
}

t.test('kubectl that asks again after a failed login gets the same answer', async (t) => {
  const { terminal, ask, logins } = await setUp(t);
  for (let call = 0; call < 5; call += 1) {
    await t.rejects(ask('kubectl 1'), { message: 'wrong password\nnumber 1' });
    terminal.clock.advance(10);
  }
  t.equal(logins(), 1);
});

t.test('the next kubectl logs in anew', async (t) => {
  const { terminal, ask, logins } = await setUp(t);
  await t.rejects(ask('kubectl 1'));
  terminal.clock.advance(10);
  await t.rejects(ask('kubectl 2'));
  t.equal(logins(), 2);
});

t.test('a program that stays may try again after a while', async (t) => {
  const { terminal, ask, logins } = await setUp(t);
  await t.rejects(ask('dashboard'));
  terminal.clock.advance(30_000);
  await t.rejects(ask('dashboard'));
  t.equal(logins(), 2);
});

t.test('a person who runs the command by hand may try again at once', async (t) => {
  const { terminal, ask, logins } = await setUp(t);
  await t.rejects(ask());
  terminal.clock.advance(10);
  await t.rejects(ask());
  t.equal(logins(), 2);
});

t.test('a failure of a time to come, when the clock was wrong, does not hold', async (t) => {
  const { terminal, ask, logins } = await setUp(t);
  terminal.clock.advance(86_400_000);
  await t.rejects(ask('kubectl 1'));
  terminal.clock.advance(-86_400_000);
  await t.rejects(ask('kubectl 2'), { message: 'wrong password\nnumber 2' });
  t.equal(logins(), 2);
});
