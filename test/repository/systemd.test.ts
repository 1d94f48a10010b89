/** The systemd unit is one that systemd accepts, and sets the heap as the image does. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const unit = readFileSync('config/systemd/stonegate.service', 'utf8');
const { error } = spawnSync('systemd-analyze', ['--version']);
const skip = error !== undefined && 'systemd-analyze is not there: install systemd';

/** A copy whose program exists, which systemd checks. */
function installed(folder: string): string {
  const file = join(folder, 'stonegate.service');
  writeFileSync(file, unit.replaceAll('/usr/bin/stonegate', process.execPath));
  return file;
}

t.test('systemd-analyze finds nothing wrong', { skip }, async (t) => {
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', installed(t.testdir())], {
    encoding: 'utf8',
  });
  t.match({ status, stderr }, { status: 0, stderr: /^$/ });
});

t.test('its sandbox leaves little exposed', { skip }, async (t) => {
  const words = ['security', '--offline=true', '--threshold=20', installed(t.testdir())];
  const { status, stdout } = spawnSync('systemd-analyze', words, { encoding: 'utf8' });
  t.equal(status, 0, stdout);
});

t.test('V8 gets what it gets in the image', async (t) => {
  const [entrypoint = ''] = /^ENTRYPOINT .*$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  const [, options] = /^Environment="NODE_OPTIONS=(.*)"$/m.exec(unit) ?? [];
  t.same(options?.split(' '), entrypoint.match(/--max-[^"]+/g));
});
