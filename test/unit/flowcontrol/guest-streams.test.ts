/**
 * A guest's stream ends when no policy permits it any more; the streams of a tenant's own users are not
 * looked at.
 */
import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { GuestStreams, type StreamPermit } from '../../../src/flowcontrol/guest-streams.ts';
import { StreamRegistry } from '../../../src/flowcontrol/stream-registry.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { streamFacts } from '../../support/stream-facts.ts';

const entry = {
  home: toTenantName('acme'),
  name: 'alice',
  groups: [],
  tenant: toTenantName('globex'),
};

function setUp(perTenant = 100) {
  const registry = new StreamRegistry({
    limits: { perUser: 100, perTenant },
    clock: createFakeClock(0),
    random: { fraction: () => 0 },
    telemetry: noTelemetry,
  });
  const asked: unknown[] = [];
  const decide: { permit: StreamPermit } = { permit: () => ({}) };
  const guests = new GuestStreams(registry.guests, (stream, now) => {
    asked.push(stream);
    return decide.permit(stream, now);
  });
  return { registry, guests, asked, decide };
}

t.test('the streams of guests, and no other, end when the policy is withdrawn', async (t) => {
  const { registry, guests, decide } = setUp();
  const own = registry.open(streamFacts());
  const [watch, exec] = [
    registry.open({ ...streamFacts(), entry }),
    registry.open({ ...streamFacts({ kind: 'exec' }), entry }),
  ];
  guests.look(0);
  t.same([own.reason, watch.reason, exec.reason], [undefined, undefined, undefined]);
  decide.permit = () => undefined;
  guests.policiesChanged();
  guests.look(1);
  t.same([own.reason, watch.reason, exec.reason], [undefined, 'policy', 'policy']);
});

t.test('a stream ends when its policy ends by itself, without any change', async (t) => {
  const { registry, guests, decide } = setUp();
  decide.permit = (_, now) => (now < 1_500 ? { notAfter: 1_500 } : undefined);
  const watch = registry.open({ ...streamFacts(), entry });
  guests.look(0);
  guests.look(1_000);
  t.equal(watch.reason, undefined);
  guests.look(2_000);
  t.equal(watch.reason, 'policy');
});

t.test('a stream that another policy still permits goes on', async (t) => {
  const { registry, guests } = setUp();
  const watch = registry.open({ ...streamFacts(), entry });
  guests.policiesChanged();
  guests.look(1_000);
  t.equal(watch.reason, undefined);
});

t.test('a permission that ends unnoticed is looked at again within five seconds', async (t) => {
  const { registry, guests, decide } = setUp();
  const watch = registry.open({ ...streamFacts(), entry });
  guests.look(0);
  decide.permit = () => undefined;
  for (let now = 1_000; now <= 5_000; now += 1_000) guests.look(now);
  t.equal(watch.reason, 'policy');
});

t.test('policies are not asked about each stream every second', async (t) => {
  const { registry, guests, asked } = setUp();
  registry.open({ ...streamFacts(), entry });
  for (let now = 0; now < 4_000; now += 1_000) guests.look(now);
  t.equal(asked.length, 1);
});

t.test('a closed stream is asked about no more', async (t) => {
  const { registry, guests, asked } = setUp();
  registry.close(registry.open({ ...streamFacts(), entry }));
  guests.look(0);
  t.same(asked, []);
});

t.test("guests have at most a quarter of their own tenant's streams", async (t) => {
  const { registry } = setUp(8);
  const first = registry.open({ ...streamFacts(), entry });
  registry.open({ ...streamFacts({ username: 'bob' }), entry });
  t.throws(() => registry.open({ ...streamFacts({ username: 'carol' }), entry }), StatusError);
  t.doesNotThrow(() => registry.open(streamFacts()), 'at home there is room');
  registry.close(first);
  t.doesNotThrow(() => registry.open({ ...streamFacts(), entry }));
});
