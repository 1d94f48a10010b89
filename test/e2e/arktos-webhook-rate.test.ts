/**
 * Arktos calls each URL of a webhook at most five times a second, for all writers together. With the
 * admission webhook, a tenant's write still waits for no more than two writes of another tenant's flood.
 */
import t from 'tap';
import { registerServedWebhook } from '../support/cross-tenant.ts';
import { eventually } from '../support/eventually.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { freePort } from '../support/free-port.ts';
import { posted } from '../support/https-client.ts';
import { startStonegate } from '../support/stonegate.ts';

const PODS = '/api/v1/namespaces/default/pods';
const FLOOD = 80;
const BURST = 10;
/** Milliseconds between two calls of the webhook. */
const INTERVAL = 200;

t.test(
  'while one tenant floods, another tenant’s create is at most the third call of the webhook',
  async (t) => {
    const port = await freePort();
    const clock = createFakeClock();
    const stonegate = await startStonegate(t, {
      apiServerClock: clock,
      configuration: {
        admission: { bind: `127.0.0.1:${port}`, tls: { certFile: 'tls.crt', keyFile: 'tls.key' } },
      },
    });
    await registerServedWebhook(stonegate, port);
    const { ask, app, apiServer, keystoneToken } = stonegate;
    const { calls, waiting } = apiServer.cluster.webhookRate;
    const [alice, bob] = [keystoneToken('alice'), keystoneToken('bob')];
    let ended = 0;
    const create = async (token: string, path: string, object: object) => {
      const { status } = await ask(token, path, posted(object));
      ended += 1;
      return status;
    };
    const pod = (name: string) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });
    const active = async () =>
      Number(/^stonegate_requests_active\{kind="short"\} (\d+)$/m.exec(await app.metrics.text())?.[1] ?? 0);
    await ask(bob, PODS);

    const flood = Array.from({ length: FLOOD }, (_, n) => create(alice, PODS, pod(`flood-${n}`)));
    await eventually(
      async () => ended === BURST && waiting.length >= 2 && (await active()) === FLOOD - BURST,
    );
    const victim = create(bob, PODS, pod('victim'));
    await eventually(async () => (await active()) === FLOOD - BURST + 1);
    await ask(bob, PODS);
    const before = calls.length;
    for (let call = 1; call <= 3; call += 1) {
      clock.advance(INTERVAL);
      await eventually(
        () => calls.length === before + call && ended === before + call && waiting.length >= 2,
      );
    }
    t.match(
      calls.slice(before).map(({ user }) => user),
      ['acme:alice', 'acme:alice', 'globex:bob'],
    );
    t.equal(await victim, 201);

    const meta = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'other' } };
    const job = { ...meta, spec: { template: { spec: pod('').spec } } };
    t.equal(
      await create(alice, '/apis/batch/v1/namespaces/default/jobs', job),
      201,
      'a write of another kind does not wait',
    );

    await eventually(() => {
      clock.advance(INTERVAL);
      return ended === FLOOD + 2;
    });
    t.same(new Set(await Promise.all(flood)), new Set([201]));
  },
);
