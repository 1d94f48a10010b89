import fc from 'fast-check';
import t from 'tap';
import { systemRandom } from '../../../../src/lib/random.ts';
import type { OpenStream, StreamFacts } from '../../../../src/proxy/streams/open-stream.ts';
import { StreamRegistry } from '../../../../src/proxy/streams/stream-registry.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recordedTelemetry } from '../../../support/recorded-telemetry.ts';
import { GUEST, streamFacts } from '../../../support/stream-facts.ts';

function registryOf(limits: { perUser: number; perTenant: number }) {
  const ended: string[] = [];
  const registry = new StreamRegistry({
    limits,
    clock: createFakeClock(),
    random: systemRandom,
    telemetry: recordedTelemetry(ended),
  });
  return { registry, ended };
}

t.test('guests use at most a quarter of the streams of their own tenant', async (t) => {
  const { registry } = registryOf({ perUser: 100, perTenant: 8 });
  const first = registry.open({ ...streamFacts(), entry: GUEST });
  registry.open({ ...streamFacts({ username: 'bob' }), entry: GUEST });
  t.throws(() => registry.open({ ...streamFacts({ username: 'carol' }), entry: GUEST }), {
    code: 'StreamLimitExceeded',
  });
  t.doesNotThrow(() => registry.open(streamFacts()), 'in the home tenant there is room');
  registry.close(first);
  t.doesNotThrow(() => registry.open({ ...streamFacts(), entry: GUEST }));
});

t.test('a watch of many namespaces counts as many streams until it ends', (t) => {
  const { registry } = registryOf({ perUser: 20, perTenant: 30 });
  const watch = registry.open(streamFacts({ username: 'alice' }));
  registry.widen(watch, 20);
  t.throws(() => registry.open(streamFacts({ username: 'alice' })), {
    code: 'StreamLimitExceeded',
    message: /the user "alice" has 20/,
  });
  const other = registry.open(streamFacts({ username: 'bob' }));
  t.throws(() => registry.widen(other, 11), { message: /the tenant "acme" has 21/ });
  registry.close(other);
  registry.close(watch);
  const again = registry.open(streamFacts({ username: 'alice' }));
  t.doesNotThrow(() => registry.widen(again, 20));
  t.end();
});

t.test('a credential finds its streams, and not those of another user or credential', (t) => {
  const { registry, ended } = registryOf({ perUser: 9, perTenant: 9 });
  const [one, two] = [registry.open(streamFacts()), registry.open(streamFacts())];
  const other = registry.open(streamFacts({ token: 'another' }));
  const password = { kind: 'basic', userName: 'alice', password: 'secret' } as const;
  const basic = registry.open({ ...streamFacts(), credential: password });
  const { credential: _none, ...anonymous } = streamFacts({ username: 'system:anonymous' });
  registry.open({ ...anonymous, credential: undefined });
  t.equal([...registry.credentials].length, 4);
  t.equal(registry.open({ ...streamFacts(), credential: { ...password } }).opener, basic.opener);
  const heard: string[] = [];
  one.onCancel(() => heard.push('one'));
  one.opener.end('dropped');
  one.opener.end('refused');
  t.same([one.reason, two.reason, other.reason], ['dropped', 'dropped', undefined]);
  t.same(heard, ['one'], 'the callback runs once');
  for (const stream of [one, two, other]) registry.close(stream);
  t.same(ended, ['watch dropped', 'watch dropped']);
  t.end();
});

t.test(
  'counts are exact, never negative, and zero at the end, for any order of opening, ending and closing',
  (t) => {
    const action = fc.oneof(
      fc.record({
        do: fc.constant('open' as const),
        tenant: fc.constantFrom('acme', 'globex'),
        username: fc.constantFrom('alice', 'bob', 'carol'),
        token: fc.constantFrom('t1', 't2'),
      }),
      fc.record({ do: fc.constant('close' as const), at: fc.nat() }),
      fc.record({ do: fc.constant('end' as const), at: fc.nat() }),
      fc.record({ do: fc.constant('limit' as const), perUser: fc.integer({ min: 1, max: 4 }) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
        const { registry } = registryOf({ perUser: 3, perTenant: 5 });
        let model: { stream: OpenStream; facts: StreamFacts }[] = [];
        const count = (matches: (facts: StreamFacts) => boolean) =>
          model.filter(({ facts }) => matches(facts)).length;
        for (const action of actions) {
          if (action.do === 'limit') registry.limits = { ...registry.limits, perUser: action.perUser };
          else if (action.do === 'open') {
            const facts = streamFacts(action);
            const ofTenant = count(({ tenant }) => tenant === facts.tenant);
            const ofUser = count((f) => f.tenant === facts.tenant && f.user.username === facts.user.username);
            const allowed = ofUser < registry.limits.perUser && ofTenant < registry.limits.perTenant;
            try {
              model.push({ stream: registry.open(facts), facts });
              if (!allowed) return false;
            } catch {
              if (allowed) return false;
            }
          } else {
            const chosen = model[action.at % Math.max(1, model.length)];
            if (chosen === undefined) continue;
            if (action.do === 'end') chosen.stream.opener.end('refused');
            else {
              registry.close(chosen.stream);
              model = model.filter((each) => each !== chosen);
            }
          }
          const found = [...registry.credentials].flatMap(({ streams }) => [...streams]);
          if (found.length !== model.length || registry.size !== model.length) return false;
          if (model.some(({ stream }) => !found.includes(stream))) return false;
        }
        for (const { stream } of model) registry.close(stream);
        return registry.size === 0 && [...registry.credentials].length === 0;
      }),
    );
    t.end();
  },
);
