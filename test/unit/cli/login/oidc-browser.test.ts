import { EventEmitter } from 'node:events';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { openBrowser } from '../../../../src/cli/login/oidc-browser.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const PAGE = 'https://login.example.com/auth?a=1&b=2';
const SCREEN = { DISPLAY: ':0' };

/** A child that does what the test says. */
function fakeStart() {
  const started: unknown[][] = [];
  const child = Object.assign(new EventEmitter(), { unref: () => undefined });
  const start = (...call: unknown[]) => {
    started.push(call);
    return child;
  };
  return { started, start, child };
}

t.test('each system has its own way', async (t) => {
  const ways: [NodeJS.Platform, string, string[]][] = [
    ['linux', 'xdg-open', [PAGE]],
    ['darwin', 'open', [PAGE]],
    ['win32', 'rundll32.exe', ['url.dll,FileProtocolHandler', PAGE]],
  ];
  for (const [platform, command, words] of ways) {
    const { start, started, child } = fakeStart();
    const opened = openBrowser(PAGE, { env: SCREEN, platform, start });
    child.emit('exit', 0);
    t.equal(await opened, true);
    t.match(started, [[command, words, { stdio: 'ignore', detached: true }]], platform);
  }
});

t.test('an opener that ends badly, or is not there, opened nothing', async (t) => {
  for (const [event, value] of [
    ['exit', 3],
    ['exit', null],
    ['error', new Error('ENOENT')],
  ] as const) {
    const { start, child } = fakeStart();
    const opened = openBrowser(PAGE, { env: SCREEN, platform: 'linux', start });
    child.emit(event, value);
    t.equal(await opened, false);
  }
});

t.test('an opener that stays has opened a browser', async (t) => {
  const clock = createFakeClock();
  const opened = openBrowser(PAGE, { env: SCREEN, platform: 'linux', start: fakeStart().start, clock });
  clock.advance(3_000);
  t.equal(await opened, true);
});

t.test('without a screen nothing is started', async (t) => {
  const { start, started } = fakeStart();
  t.equal(await openBrowser(PAGE, { env: { DISPLAY: '' }, platform: 'linux', start }), false);
  t.same(started, []);
});

t.test('only pages are opened', async (t) => {
  const { start, started } = fakeStart();
  for (const address of ['file:///etc/passwd', 'javascript:alert(1)', 'vscode://x', '--help']) {
    await t.rejects(openBrowser(address, { env: SCREEN, platform: 'linux', start }), Error, address);
  }
  t.same(started, []);
});

t.test('no shell reads the address', async (t) => {
  const folder = t.testdir();
  const opener = join(folder, 'xdg-open');
  await writeFile(opener, `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > "${folder}/got"\n`);
  await chmod(opener, 0o700);
  const address = `https://login.example.com/?a=1&b=$(touch${'%20'}x);'`;
  const env = { ...SCREEN, PATH: folder };
  t.equal(await openBrowser(address, { env, platform: 'linux' }), true);
  await eventually(
    async () => (await readFile(join(folder, 'got'), 'utf8')) === `1\n${new URL(address).href}\n`,
  );
});
