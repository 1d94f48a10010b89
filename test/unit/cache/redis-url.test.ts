import t from 'tap';
import { parseRedisURL } from '../../../src/cache/redis-url.ts';

const GOOD = [
  ['redis://redis', { host: 'redis', port: 6379, tls: false }],
  ['redis://:p%40ss@[::1]:6380/2', { host: '::1', port: 6380, password: 'p@ss', db: 2, tls: false }],
  ['rediss://me:secret@redis:1/', { host: 'redis', port: 1, username: 'me', password: 'secret', tls: true }],
  ['unix:///run/redis.sock', { path: '/run/redis.sock', tls: false }],
] as const;

for (const [url, address] of GOOD)
  t.test(`${url} is accepted`, (t) => {
    t.same(parseRedisURL(url), address);
    t.end();
  });

for (const url of ['http://:secret@redis', ':secret@redis', 'redis://:secret@redis/name'])
  t.test(`${url} is refused, and the error does not repeat it`, (t) => {
    const error = t.throws(() => parseRedisURL(url));
    t.ok(error instanceof RangeError);
    t.notMatch(String(error), /secret/);
    t.end();
  });
