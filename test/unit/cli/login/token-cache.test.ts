import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { LoginError } from '../../../../src/cli/login/credential-source.ts';
import { cacheFolder, openTokenCache } from '../../../../src/cli/login/token-cache.ts';

const CREDENTIAL = { token: 'the-token', expiresAt: 2, obtainedAt: 1 };
const IDENTITY = ['keystone', 'alice'];
const modeOf = (file: string) => statSync(file).mode & 0o777;

t.test('a token is read back, from a folder and a file that only the user can access', async (t) => {
  const folder = join(t.testdir(), 'deep', 'stonegate');
  const cache = await openTokenCache(folder, IDENTITY);
  await cache.write({ ...CREDENTIAL, refreshToken: 'again' });
  t.same(await cache.read(), { ...CREDENTIAL, refreshToken: 'again' });
  t.same([modeOf(folder), modeOf(cache.file)], [0o700, 0o600]);
});

t.test('each identity has its own file, whose name reveals no user', async (t) => {
  const folder = t.testdir();
  for (const identity of [IDENTITY, ['keystone', 'bob'], ['keystone,alice'], ['keystonealice']])
    await (await openTokenCache(folder, identity)).write(CREDENTIAL);
  const files = readdirSync(folder);
  t.equal(files.length, 4);
  t.ok(files.every((file) => /^[0-9a-f]{32}\.json$/.test(file)));
});

for (const [what, text] of Object.entries({
  'a file of another identity': JSON.stringify({ identity: ['other'], ...CREDENTIAL }),
  'an incomplete file': '{"identity":',
  'a file without a token': JSON.stringify({ identity: IDENTITY, expiresAt: 1, obtainedAt: 1 }),
}))
  t.test(`${what} is ignored`, async (t) => {
    const cache = await openTokenCache(t.testdir(), IDENTITY);
    writeFileSync(cache.file, text, { mode: 0o600 });
    t.equal(await cache.read(), undefined);
  });

t.test('a file that others may read is refused, and not deleted', async (t) => {
  const cache = await openTokenCache(t.testdir(), IDENTITY);
  await cache.write(CREDENTIAL);
  for (const mode of [0o604, 0o620]) {
    chmodSync(cache.file, mode);
    await t.rejects(cache.read(), { message: /is open to others \(mode 6\d\d\)/ });
  }
});

t.test('a file of another user is refused', { skip: process.getuid?.() !== 0 && 'needs root' }, async (t) => {
  const cache = await openTokenCache(t.testdir(), IDENTITY);
  await cache.write(CREDENTIAL);
  chownSync(cache.file, 65_534, 65_534);
  await t.rejects(cache.read(), { message: /belongs to another user/ });
});

t.test('a link is refused, since it may point to a file of another user', async (t) => {
  const cache = await openTokenCache(t.testdir({ other: '{}' }), IDENTITY);
  symlinkSync(join(t.testdirName, 'other'), cache.file);
  await t.rejects(cache.read(), { message: /^cannot read the cached token / });
});

t.test('a pipe in place of the file is refused without blocking', async (t) => {
  const pipe = await openTokenCache(t.testdir(), IDENTITY);
  execFileSync('mkfifo', ['-m', '600', pipe.file]);
  await t.rejects(pipe.read(), { constructor: LoginError, message: /is no regular file: delete it$/ });
  await pipe.write(CREDENTIAL);
  t.same(await pipe.read(), CREDENTIAL, 'a new login replaces it');
});

t.test('a folder that others may write to is refused', async (t) => {
  const folder = t.testdir();
  chmodSync(folder, 0o777);
  await t.rejects(openTokenCache(folder, IDENTITY), { message: /is open to others \(mode 777\)/ });
});

t.test('a token that cannot be written leaves no partial file', async (t) => {
  const folder = t.testdir();
  const cache = await openTokenCache(folder, IDENTITY);
  mkdirSync(cache.file);
  await t.rejects(cache.write(CREDENTIAL), { message: /cannot write the token/ });
  t.same(readdirSync(folder).length, 1);
});

t.test('the folder is --cache-dir, or XDG_CACHE_HOME, or ~/.cache', async (t) => {
  t.equal(cacheFolder('/given', { XDG_CACHE_HOME: '/xdg' }), '/given');
  t.equal(cacheFolder('~/given', { HOME: '/home/alice' }), '/home/alice/given');
  t.equal(cacheFolder(undefined, { XDG_CACHE_HOME: '/xdg' }), '/xdg/stonegate');
  t.equal(cacheFolder(undefined, { XDG_CACHE_HOME: 'relative' }), join(homedir(), '.cache/stonegate'));
});
