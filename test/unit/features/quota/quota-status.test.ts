import t from 'tap';
import { QuotaStatuses } from '../../../../src/features/quota/quota-status.ts';
import type { TenantQuota } from '../../../../src/features/quota/tenant-quota-v1alpha1.ts';
import { type CountedObject, UsageStore } from '../../../../src/features/quota/usage-store.ts';
import { ONE } from '../../../../src/kubernetes/quantity.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const POD = new Map([['pods', ONE]]);

function setUp() {
  const clock = createFakeClock(1_000_000);
  const changed: string[] = [];
  const repaired: string[] = [];
  const usage = new UsageStore({ clock, onChange: (tenant) => void changed.push(tenant) });
  const namespaces = usage.storeOf('namespaces');
  const pods = usage.storeOf('pods');
  const statuses = new QuotaStatuses({ usage, clock, onRepair: (tenant) => void repaired.push(tenant) });
  const place = (name: string, tenant: string): CountedObject => {
    const owner = { tenant, project: '' };
    return { key: name, uid: `n-${name}`, place: name, revision: 1, usage: new Map(), owner };
  };
  const pod = (uid: string, at: string): CountedObject => ({
    key: uid,
    uid,
    place: at,
    revision: 2,
    usage: POD,
  });
  return { clock, usage, namespaces, pods, statuses, place, pod, changed, repaired };
}

function quota(
  status: TenantQuota['status'],
  hard: Readonly<Record<string, string>> = { pods: '3' },
): TenantQuota {
  return { apiVersion: 'v', kind: 'TenantQuota', metadata: { name: 'acme' }, spec: { hard }, status };
}

t.test('D217 a namespace that changes its tenant takes its usage along in one step', async (t) => {
  const { usage, namespaces, pods, place, pod, changed } = setUp();
  namespaces.put(place('web', 'acme'));
  pods.put(pod('a', 'web'));
  t.same([...usage.usedBy('acme')], [...POD]);
  changed.length = 0;
  namespaces.put(place('web', 'beta'));
  t.same([...usage.usedBy('acme')], []);
  t.same([...usage.usedBy('beta')], [...POD]);
  t.same([...new Set(changed)].sort(), ['acme', 'beta']);
});

t.test('an object that a new list lacks no longer counts', async (t) => {
  const { usage, namespaces, pods, place, pod } = setUp();
  namespaces.put(place('web', 'acme'));
  pods.put(pod('a', 'web'));
  pods.put(pod('b', 'web'));
  const list = pods.beginList(9);
  list.take([pod('b', 'web')]);
  list.end();
  t.same([...usage.usedBy('acme')], [...POD]);
});

t.test('D209 the reservation of an object that was never stored ends after a minute', async (t) => {
  const { statuses, namespaces, place, clock } = setUp();
  namespaces.put(place('web', 'acme'));
  const reserved = quota({ used: { pods: '0' }, reservations: [{ uid: 'lost', usage: { pods: '1' } }] });
  t.equal(statuses.next(reserved, clock.now()), undefined);
  clock.advance(59_000);
  t.equal(statuses.next(reserved, clock.now()), undefined);
  clock.advance(2_000);
  t.equal(
    statuses.next(reserved, clock.now() - 2_000),
    undefined,
    'unless an object may not have been seen yet',
  );
  t.match(statuses.next(reserved, clock.now()), { reservations: [] });
});

t.test('a deletion ends the reservation of an object at once', async (t) => {
  const { statuses, namespaces, pods, place, pod, clock } = setUp();
  namespaces.put(place('web', 'acme'));
  pods.put(pod('short', 'web'));
  pods.delete(pod('short', 'web'));
  const reserved = quota({ used: { pods: '0' }, reservations: [{ uid: 'short', usage: { pods: '1' } }] });
  t.match(statuses.next(reserved, clock.now()), { reservations: [] });
});

t.test('D219 a status that another client writes is repaired and reported', async (t) => {
  const { statuses, namespaces, place, clock, repaired } = setUp();
  namespaces.put(place('web', 'acme'));
  statuses.written(quota({ used: { pods: '0' } }));
  t.match(statuses.next(quota({ used: { pods: '-100' } }), clock.now()), { used: { pods: '0' } });
  t.same(repaired, ['acme']);
});

t.test('a replica that has seen less than the last writer writes nothing', async (t) => {
  const { statuses, namespaces, place, clock } = setUp();
  namespaces.put(place('web', 'acme'));
  const status = { used: { pods: '1' }, revisions: { namespaces: '1', pods: '7' } };
  t.equal(statuses.next(quota(status), clock.now()), undefined);
});

t.test('names that limit nothing are reported, and names that are gone are removed', async (t) => {
  const { statuses, namespaces, place, clock } = setUp();
  namespaces.put(place('web', 'acme'));
  const status = statuses.next(quota({ used: { cpu: '0' } }, { pods: '3', 'pod s': '1' }), clock.now());
  t.match(status, { used: { cpu: null, pods: '0' }, problem: /limit nothing: pod s$/ });
});
