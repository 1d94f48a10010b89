import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createConfigMapRules } from '../../../../src/features/webhook/config-map.ts';
import { type LogFields, silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

interface Served {
  body?: unknown;
  error?: StatusError;
}

function start() {
  const served: Served = {};
  const targets: string[] = [];
  const logged: LogFields[] = [];
  const clock = createFakeClock();
  const rules = createConfigMapRules<string>({
    fetcher: () => ({
      async fetch({ target }) {
        targets.push(target);
        if (served.error !== undefined) throw served.error;
        return { status: 200, headers: [], body: Buffer.from(JSON.stringify(served.body)) };
      },
    }),
    reference: { namespace: 'kube-system', name: 'auth' },
    key: 'policies',
    read: (content) =>
      content.startsWith('good')
        ? { ok: true, value: content }
        : { ok: false, problems: [{ path: 'a', message: 'is bad' }] },
    interval: 10_000,
    clock,
    logger: { ...silentLogger, error: (fields) => void logged.push(fields) },
    telemetry: noTelemetry,
  });
  const serve = (policies: unknown) => {
    served.body = { kind: 'ConfigMap', data: { policies } };
  };
  return { served, serve, targets, logged, clock, rules };
}

t.test('the text of the key is read, and read again after each interval until the end', async (t) => {
  const { rules, serve, targets, clock } = start();
  t.match(rules.check.notReadyBecause(), /not looked at/);
  serve('good 1');
  rules.start();
  await eventually(() => clock.pending === 1);
  t.equal(rules.current, 'good 1');
  t.equal(rules.check.notReadyBecause(), undefined);
  serve('good 2');
  clock.advance(10_000);
  await eventually(() => rules.current === 'good 2');
  t.same(new Set(targets), new Set(['/api/v1/namespaces/kube-system/configmaps/auth']));
  await eventually(() => clock.pending === 1);
  rules.stop();
  t.equal(clock.pending, 0);
});

t.test('C234 bad rules leave the last good ones in force, and are reported once', async (t) => {
  const { rules, serve, logged } = start();
  serve('good');
  await rules.look();
  serve('bad');
  await rules.look();
  await rules.look();
  t.equal(rules.current, 'good');
  t.match(logged, [{ configMap: 'kube-system/auth', problems: ['policies: a: is bad'] }]);
  serve('good');
  await rules.look();
  serve('bad');
  await rules.look();
  t.equal(logged.length, 2);
});

for (const [what, fault] of Object.entries<Served>({
  'an API server that is unavailable': { error: new StatusError('UpstreamUnavailable', 'away') },
  'a key that is not text': { body: { data: { policies: 7 } } },
})) {
  t.test(`${what} leaves the last good rules in force; without them Stonegate is not ready`, async (t) => {
    const { rules, serve, served } = start();
    Object.assign(served, fault);
    await rules.look();
    t.ok(rules.check.notReadyBecause());
    t.equal(rules.current, undefined);
    delete served.error;
    serve('good');
    await rules.look();
    Object.assign(served, fault);
    await rules.look();
    t.equal(rules.current, 'good');
    t.equal(rules.check.notReadyBecause(), undefined);
  });
}
