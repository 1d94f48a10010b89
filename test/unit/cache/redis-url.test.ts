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
