import { statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { makeFolder } from '../../../src/lib/make-folder.ts';

t.test('a folder is made with those above it, and may be there already', async (t) => {
  const root = t.testdir({});
  for (const _ of [1, 2]) await makeFolder(join(root, 'a', 'b', 'c'), 0o700);
  t.equal(statSync(join(root, 'a', 'b')).mode & 0o777, 0o700);
  await Promise.all([1, 2, 3].map(() => makeFolder(join(root, 'd', 'e'))));
  t.ok(statSync(join(root, 'd', 'e')).isDirectory());
});

t.test('where no folder can be made, there is an error', async (t) => {
  const root = t.testdir({ file: '' });
  await t.rejects(makeFolder('/proc/x/y'), { code: 'ENOENT' });
  await t.rejects(makeFolder(join(root, 'file')), { code: 'EEXIST' });
  await t.rejects(makeFolder(join(root, 'file', 'below')), { code: 'ENOTDIR' });
});
