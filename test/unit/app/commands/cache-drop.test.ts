/** What `stonegate cache drop` refuses. test/e2e/redis.test.ts tests what it does. */
import { join } from 'node:path';
import t from 'tap';
import { cacheDrop } from '../../../../src/app/commands/cache-drop.ts';
import { configurationText } from '../../../support/configuration-problems.ts';
import { printedIO } from '../../../support/printed-io.ts';
import { eachRow } from '../../../support/rows.ts';
import { createAuthority } from '../../../support/tls/authority.ts';

const { cert, key } = await (await createAuthority()).server('localhost');

const CONFIGURATION = configurationText({ server: '{ tls: { certFile: tls.crt, keyFile: tls.key } }' });

t.test('without Redis, the command says what to do instead', async (t) => {
  const folder = t.testdir({ 'c.yaml': CONFIGURATION, 'tls.crt': cert, 'tls.key': key, token: 'abc' });
  const { io, printed } = printedIO();
  t.equal(await cacheDrop(['drop', '--user', 'alice', '--config', join(folder, 'c.yaml')], io), 1);
  t.match(printed, { stdout: '', stderr: /has no cache\.redis.* Send SIGHUP/ });
});

await eachRow(
  `
  empty | the command is: stonegate cache drop
  drop --config c | --user USER or --tenant TENANT is required
  drop --user= --config c | --user USER or --tenant TENANT is required
  drop --user a --tenant b | exclude each other
  drop --user a | --config FILE is required`,
  (line, message) =>
    t.test(`cache ${line} is a usage error`, async (t) => {
      const { io, printed } = printedIO();
      t.equal(await cacheDrop(line.split(' '), io), 2);
      t.match(printed.stderr, message);
    }),
);
