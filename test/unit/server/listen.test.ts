/** Addresses to listen on. */
import t from 'tap';
import { parseBindAddress } from '../../../src/server/listen.ts';

const GOOD = {
  '0.0.0.0:8443': { host: '0.0.0.0', port: 8443 },
  'localhost:0': { host: 'localhost', port: 0 },
  '[::]:8443': { host: '::', port: 8443 },
  ':9090': { host: undefined, port: 9090 },
};
for (const [bind, address] of Object.entries(GOOD))
  t.test(`${bind} is a listen address`, async (t) => t.same(parseBindAddress(bind), address));

for (const bind of ['', '8443', 'localhost', 'localhost:', '::1:80', 'a:b:1', 'x:99999', '[x]:1', 'a b:1'])
  t.test(`${JSON.stringify(bind)} is not a listen address`, async (t) =>
    t.throws(() => parseBindAddress(bind), /no host:port/),
  );
