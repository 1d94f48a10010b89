/** A process that serves only the admission webhook: it needs nothing else, and starts and ends quickly. */
import { access, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { type AdmissionWebhook, startAdmissionWebhook } from '../support/admission-webhook.ts';
import { freePort } from '../support/free-port.ts';
import { createHttpsClient } from '../support/https-client.ts';
import { createAuthority } from '../support/tls/authority.ts';

const READYZ = '/readyz';

/** The status of the webhook's own readiness. */
async function ready(t: Test, { port }: AdmissionWebhook, ca: string): Promise<number> {
  const { ask, close } = createHttpsClient({ port, ca });
  t.teardown(close);
  return (await ask(undefined, READYZ)).status;
}

t.test('it is ready without an API server, and reads and opens nothing that it does not need', async (t) => {
  const server = `https://127.0.0.1:${await freePort()}`;
  const webhook = await startAdmissionWebhook(
    t,
    'shared',
    {},
    {
      files: { token: 'token' },
      upstream: { server, caFile: 'ca.crt', credential: { tokenFile: 'token' } },
      audit: { file: 'audit.log' },
      portal: 'anything',
    },
  );
  t.same(webhook.app.readiness(), [{ name: 'shutdown' }]);
  t.equal(await ready(t, webhook, webhook.authority.cert), 200);
  await t.rejects(access(join(dirname(webhook.configFile), 'audit.log')), { code: 'ENOENT' });
});

t.test('a reload brings renewed certificates into force', async (t) => {
  const webhook = await startAdmissionWebhook(t, 'shared');
  const authority = await createAuthority('renewed CA');
  const { cert, key } = await authority.server('renewed');
  const folder = dirname(webhook.configFile);
  await Promise.all([writeFile(join(folder, 'hook.crt'), cert), writeFile(join(folder, 'hook.key'), key)]);
  await webhook.app.reload();
  t.equal(await ready(t, webhook, authority.cert), 200);
  await t.rejects(ready(t, webhook, webhook.authority.cert));
});

t.test('it drains for 5 s and has a grace period of 10 s; meanwhile it serves', async (t) => {
  const webhook = await startAdmissionWebhook(t, 'shared');
  const closed = webhook.app.close(true);
  t.match(webhook.logged.join(''), '"drain":5000,"grace":10000,"message":"shutting down"');
  t.equal(await ready(t, webhook, webhook.authority.cert), 200);
  t.same(webhook.app.readiness(), [{ name: 'shutdown', reason: 'shutting down' }]);
  await webhook.app.close();
  await closed;
  await t.rejects(ready(t, webhook, webhook.authority.cert), { code: 'ECONNREFUSED' });
});
