import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openBrowser, openerOf } from '../../../../src/cli/login/oidc-browser.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const SCREEN = { DISPLAY: ':0' };
const onLinux = { skip: process.platform !== 'linux' && 'xdg-open exists on Linux only' };

t.test('each operating system has its own opener, and without a display there is none', async (t) => {
  t.same(openerOf('linux', SCREEN), ['xdg-open']);
  t.same(openerOf('darwin', {}), ['open']);
  t.same(openerOf('win32', {}), ['rundll32.exe', 'url.dll,FileProtocolHandler']);
  t.equal(openerOf('linux', { DISPLAY: '' }), undefined);
});

/** The environment of a user whose `xdg-open` is this script. */
function withOpener(t: Test, script: string) {
  const folder = t.testdir();
  const opener = join(folder, 'xdg-open');
  writeFileSync(opener, `#!/bin/sh\n${script.replaceAll('FOLDER', folder)}\n`);
  chmodSync(opener, 0o700);
  return { env: { ...SCREEN, PATH: folder }, folder };
}

t.test('the address is not interpreted by a shell, and only web pages are opened', onLinux, async (t) => {
  const { env, folder } = withOpener(t, `printf '%s\\n' "$#" "$1" > "FOLDER/got"`);
  for (const address of ['file:///etc/passwd', 'javascript:alert(1)', 'vscode://x', '--help'])
    await t.rejects(openBrowser(address, env), Error, address);
  t.notOk(existsSync(join(folder, 'got')));
  const address = `https://login.example.com/?a=1&b=$(touch%20x);'`;
  t.equal(await openBrowser(address, env), true);
  t.equal(readFileSync(join(folder, 'got'), 'utf8'), `1\n${new URL(address).href}\n`);
});

t.test('an opener that fails or is missing counts as no browser', onLinux, async (t) => {
  t.equal(await openBrowser('https://a.example', withOpener(t, 'exit 3').env), false);
  t.equal(await openBrowser('https://a.example', { ...SCREEN, PATH: '/none' }), false);
  t.equal(await openBrowser('https://a.example', {}), false);
});

t.test('an opener that keeps running counts as a browser', onLinux, async (t) => {
  const { env, folder } = withOpener(t, 'echo $$ > "FOLDER/pid"\nexec /bin/sleep 60');
  const clock = createFakeClock();
  const opened = openBrowser('https://a.example', env, clock);
  const pid = () => Number(readFileSync(join(folder, 'pid'), 'utf8'));
  await eventually(() => existsSync(join(folder, 'pid')) && pid() > 0);
  clock.advance(3_000);
  t.equal(await opened, true);
  process.kill(pid());
});
