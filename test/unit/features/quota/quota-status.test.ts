import t from 'tap';
import { QuotaStatuses } from '../../../../src/features/quota/quota-status.ts';
import { createReservation } from '../../../../src/features/quota/reservation.ts';
import type { TenantQuota } from '../../../../src/features/quota/tenant-quota-v1alpha1.ts';
import { type CountedObject, UsageStore } from '../../../../src/features/quota/usage-store.ts';
import { ONE } from '../../../../src/kubernetes/quantity.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const POD = new Map([['pods', ONE]]);

/** A counter that has listed pods and namespaces at revision 1. */
function setUp(hard: Readonly<Record<string, string>> = { pods: '3' }) {
  const clock = createFakeClock(1_000_000);
  const changed: (string | undefined)[] = [];
  const repaired: string[] = [];
  const renewed: [string, number | undefined][] = [];
  const listed = { at: 0 };
  const unlisted = new Set<string>();
  const ages = { now: 0 };
  const usage = new UsageStore({ clock, onChange: (tenant) => void changed.push(tenant) });
  usage.addNames(Object.keys(hard));
  const namespaces = usage.storeOf('namespaces');
  const pods = usage.storeOf('pods');
  for (const store of [namespaces, pods]) store.beginList(1).end();
  const statuses = new QuotaStatuses({
    usage,
    clock,
    storedWithin: 15_000,
    ageOf: () => ages.now,
    lists: {
      unlisted,
      listedAt: () => listed.at,
      renew: (kind, since) => void renewed.push([kind, since]),
    },
    onRepair: (tenant) => void repaired.push(tenant),
  });
  const place = (name: string, tenant: string): CountedObject => {
    const owner = { tenant, project: '' };
    return { key: name, id: `n-${name}`, place: name, revision: 1, usage: new Map(), owner };
  };
  const pod = (id: string, at: string, revision = 2): CountedObject => {
    return { key: id, id, place: at, revision, usage: POD };
  };
  const quota = (status: TenantQuota['status']): TenantQuota => {
    return { apiVersion: 'v', kind: 'TenantQuota', metadata: { name: 'acme' }, spec: { hard }, status };
  };
  const next = (status: TenantQuota['status'], found = new Map<string, number>()) =>
    statuses.next(quota(status), found)?.status;
  return {
    ages,
    usage,
    namespaces,
    pods,
    statuses,
    place,
    pod,
    changed,
    repaired,
    renewed,
    listed,
    clock,
    unlisted,
    quota,
    next,
  };
}

const READY = {
  type: 'Ready',
  status: 'True',
  reason: 'Counted',
  message: 'all that hard names is counted',
  lastTransitionTime: '1970-01-01T00:16:40Z',
} as const;
const conditions = [READY];
const line = (id: string, resource = 'pods') =>
  createReservation({
    ...{ id, mark: '1', revision: 0, object: { resource, namespace: 'web', name: id } },
    ...{ usage: POD, seen: new Map() },
  }).line;

t.test(
  'what a replica reserved in advance ends after 19 seconds, with a list that began later',
  async (t) => {
    const { namespaces, place, clock, ages, listed, renewed, next } = setUp();
    namespaces.put(place('web', 'acme'));
    const advance = createReservation({
      ...{ id: 'advance', mark: '1', revision: 0, object: { resource: 'pods', namespace: '', name: '/' } },
      ...{ usage: POD, seen: new Map() },
    }).line;
    const reserved = { used: { pods: '0' }, ledger: advance, conditions };
    const end = clock.monotonic();
    listed.at = end - 1;
    ages.now = 18_999;
    t.equal(next(reserved), undefined);
    t.same(renewed, []);
    ages.now = 19_000;
    t.equal(next(reserved), undefined);
    t.same(renewed, [['pods', end]], 'a replica that has died may have admitted what is not seen yet');
    listed.at = end;
    t.match(next(reserved), { ledger: '' });
  },
);

t.test('D217 a namespace that changes its tenant takes its usage along in one step', async (t) => {
  const { usage, namespaces, pods, place, pod, changed } = setUp();
  namespaces.put(place('web', 'acme'));
  pods.put(pod('a', 'web'));
  t.same(usage.usedBy('acme', ['pods']), POD);
  changed.length = 0;
  namespaces.put(place('web', 'beta'));
  t.same(usage.usedBy('acme', ['pods']), new Map([['pods', 0n]]));
  t.same(usage.usedBy('beta', ['pods']), POD);
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
  t.same(usage.usedBy('acme', ['pods']), POD);
});

t.test('of what objects use only the resources that some quota names are stored', async (t) => {
  const { usage, namespaces, pods, place, pod } = setUp();
  namespaces.put(place('web', 'acme'));
  const wide = new Map([
    ...POD,
    ['requests.cpu', ONE],
    ...Array.from({ length: 99 }, (_, at) => [`requests.e.com/${at}`, ONE] as const),
  ]);
  pods.put({ ...pod('a', 'web'), usage: wide });
  t.same(usage.find('a')?.usage, POD);
  t.same([...usage.addNames(['requests.cpu'])], ['pods'], 'pods have to be listed anew');
  t.notOk(usage.isCounted('requests.cpu'));
  const list = pods.beginList(9);
  list.take([{ ...pod('a', 'web'), usage: wide }]);
  list.end();
  t.ok(usage.isCounted('requests.cpu'));
  t.same(usage.usedBy('acme', ['requests.cpu']), new Map([['requests.cpu', ONE]]));
});

t.test(
  'D209 15 seconds after it was first seen a reservation ends whose object does not exist',
  async (t) => {
    const { statuses, namespaces, place, ages, quota, next } = setUp();
    namespaces.put(place('web', 'acme'));
    const reserved = { used: { pods: '0' }, ledger: line('lost'), conditions };
    ages.now = 14_999;
    t.same(statuses.unresolved(quota(reserved)), []);
    t.equal(next(reserved), undefined);
    ages.now = 15_000;
    t.match(statuses.unresolved(quota(reserved)), [{ id: 'lost' }]);
    t.match(next(reserved, new Map([['lost', 0]])), { ledger: '' });
    t.equal(next(reserved, new Map([['lost', 9]])), undefined, 'unless it does, and will be seen');
  },
);

t.test(
  'a reservation ends at once when its object is seen, whatever it uses by then, or was deleted',
  async (t) => {
    const { namespaces, pods, place, pod, next } = setUp();
    namespaces.put(place('web', 'acme'));
    pods.put({ ...pod('failed', 'web'), usage: new Map() });
    pods.put(pod('short', 'web'));
    pods.delete(pod('short', 'web'));
    t.match(next({ used: { pods: '0' }, ledger: [line('failed'), line('short')].join('\n'), conditions }), {
      ledger: '',
    });
  },
);

t.test('a reservation stays until it is known whose the namespace of its object is', async (t) => {
  const { namespaces, pods, place, pod, next } = setUp();
  pods.put(pod('a', 'web'));
  const reserved = { used: { pods: '0' }, ledger: line('a'), conditions };
  t.equal(next(reserved), undefined);
  namespaces.put(place('web', 'beta'));
  t.match(next(reserved), { used: { pods: '0' }, ledger: '' });
});

t.test('D219 a status that another client writes is repaired and reported', async (t) => {
  const { statuses, namespaces, place, repaired, quota, next } = setUp();
  namespaces.put(place('web', 'acme'));
  statuses.written(quota({ used: { pods: '0' } }));
  t.match(next({ used: { pods: '-100' } }), { used: { pods: '0' } });
  t.same(repaired, ['acme']);
});

t.test(
  'a replica that has seen less of a kind than the last writer writes nothing of it, and lists it',
  async (t) => {
    const { usage, namespaces, pods, place, pod, clock, renewed, next } = setUp({ pods: '3', services: '3' });
    namespaces.put(place('web', 'acme'));
    pods.put(pod('a', 'web'));
    const ledger = [line('a'), line('gone', 'services')].join('\n');
    const services = usage.storeOf('services');
    services.beginList(5).end();
    const status = { used: { pods: '5', services: '1' }, ledger, revisions: { pods: '7', services: '4' } };
    t.match(next(status), {
      used: { pods: '5', services: '0' },
      ledger,
      revisions: { pods: '7', services: '5' },
    });
    t.same(renewed[0], ['pods', clock.monotonic() - 60_000]);
  },
);

t.test(
  'a kind that was never listed is not counted, and stops no other; a condition says which',
  async (t) => {
    const { usage, namespaces, place, unlisted, next } = setUp({ pods: '3', 'count/deployments.apps': '5' });
    namespaces.put(place('web', 'acme'));
    usage.storeOf('deployments.apps');
    unlisted.add('deployments.apps');
    t.match(next({}), {
      used: { pods: '0' },
      conditions: [{ type: 'Ready', status: 'False', reason: 'KindUnlisted', message: /deployments\.apps/ }],
    });
    t.notOk('count/deployments.apps' in (next({})?.used ?? {}));
  },
);

t.test('names that limit nothing are reported, and what is no longer counted is removed', async (t) => {
  const { namespaces, place, next } = setUp({ pods: '3', 'pod s': '1' });
  namespaces.put(place('web', 'acme'));
  const status = next({ used: { cpu: '0' }, ledger: line('a', 'widgets') });
  t.match(status, {
    used: { pods: '0' },
    ledger: '',
    conditions: [{ status: 'False', message: /limit nothing: pod s$/ }],
  });
  t.notOk('cpu' in (status?.used ?? {}));
});
