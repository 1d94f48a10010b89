/** systemd accepts the unit, and the unit sets the same heap limits as the image. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const unit = readFileSync('config/systemd/stonegate.service', 'utf8');
const { error } = spawnSync('systemd-analyze', ['--version']);
const skip = error !== undefined && 'systemd-analyze is not there: install systemd';

/** A copy of the unit whose program exists, since systemd checks that. */
function installed(folder: string): string {
  const file = join(folder, 'stonegate.service');
  writeFileSync(file, unit.replaceAll('/usr/bin/stonegate', process.execPath));
  return file;
}

t.test('systemd-analyze finds no fault in the unit', { skip }, async (t) => {
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', installed(t.testdir())], {
    encoding: 'utf8',
  });
  t.match({ status, stderr }, { status: 0, stderr: /^$/ });
});

t.test('systemd-analyze rates the exposure of the unit as low', { skip }, async (t) => {
  const words = ['security', '--offline=true', '--threshold=20', installed(t.testdir())];
  const { status, stdout } = spawnSync('systemd-analyze', words, { encoding: 'utf8' });
  t.equal(status, 0, stdout);
});

t.test('V8 gets the same options as in the image', async (t) => {
  const [entrypoint = ''] = /^ENTRYPOINT .*$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  const [, options] = /^Environment="NODE_OPTIONS=(.*)"$/m.exec(unit) ?? [];
  t.same(options?.split(' '), entrypoint.match(/--max-[^"]+/g));
});
