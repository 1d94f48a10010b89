/** A tenant that is made anew under the name of a deleted one inherits nothing that was stored for it. */
import t from 'tap';
import { parse } from 'yaml';
import { StatusError } from '../../../src/errors/status-error.ts';
import { createFormerObjects } from '../../../src/features/former-objects.ts';
import { TeamIndex } from '../../../src/features/teams/team-index.ts';
import { readTeam, TEAMS } from '../../../src/features/teams/team-v1alpha1.ts';
import { readTenant, TenantStore } from '../../../src/features/tenant-uids.ts';
import { storableObjects } from '../../../src/kubernetes/informer-store.ts';
import { KINDS } from '../../../src/kubernetes/kubernetes-object.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { createMemoryObjects } from '../../support/memory-objects.ts';

const PLACE = { tenant: 'system', namespace: 'stonegate' };
const SIGNAL = new AbortController().signal;
const LABEL = 'stonegate.dev/tenant-uid';

function tenant(uid: string, creationTimestamp: string, revision = 1) {
  return readTenant({
    metadata: { name: 'acme', uid, creationTimestamp, resourceVersion: String(revision) },
  });
}

const FIRST = tenant('first', '2026-01-01T00:00:00Z');
const SECOND = tenant('second', '2026-02-01T00:00:00Z', 2);

/** One team for each UID, named after it; one without a UID of each age. */
const MADE: Readonly<Record<string, { label?: string; at: string }>> = parse(`
  first: {label: first, at: !!str 2026-01-02T00:00:00Z}
  second: {label: second, at: !!str 2026-02-02T00:00:00Z}
  old: {at: !!str 2026-01-02T00:00:00Z}
  young: {at: !!str 2026-02-02T00:00:00Z}`);

function setUp() {
  const clock = createFakeClock();
  const objects = createMemoryObjects();
  for (const [name, made] of Object.entries(MADE))
    objects.put(TEAMS, PLACE, {
      metadata: {
        name: `acme.${name}`,
        creationTimestamp: made.at,
        ...(made.label && { labels: { [LABEL]: made.label } }),
      },
      spec: { tenant: 'acme', name, members: ['acme:alice'], managers: ['acme:alice'] },
    });
  const tenants = new TenantStore();
  const index = new TeamIndex(tenants);
  const read = storableObjects(readTeam);
  const list = index.beginList();
  list.take(objects.all().map(({ object }) => read({ value: object, text: () => '' })));
  list.end();
  const former = createFormerObjects({
    ...{ kind: TEAMS, place: PLACE, tenants, objects, clock, logger: silentLogger },
    values: () => index.values(),
  });
  const exists = ({ uid, createdAt }: typeof FIRST) => {
    objects.drop(KINDS.Tenant, {}, 'acme');
    objects.put(KINDS.Tenant, {}, { metadata: { name: 'acme' } });
    const { get } = objects;
    objects.get = async (kind, place, name, signal) => {
      const found = await get(kind, place, name, signal);
      if (kind !== KINDS.Tenant || found === undefined) return found;
      const creationTimestamp = new Date(createdAt).toISOString();
      return { ...found, metadata: { ...found.metadata, uid, creationTimestamp } };
    };
  };
  return {
    ...{ objects, tenants, former, exists },
    counted: () =>
      index
        .groupsOf('acme', 'acme:alice')
        .map((group) => group.split(':').at(-1))
        .sort(),
    listed: () =>
      index
        .teamsOf('acme')
        .map(({ spec }) => spec.name)
        .sort(),
    stored: () => objects.all().flatMap(({ kind, object }) => (kind === TEAMS ? [object.metadata.name] : [])),
  };
}

const listOf = (tenants: TenantStore, ...items: readonly (typeof FIRST)[]) => {
  const list = tenants.beginList();
  list.take(items);
  list.end();
};

t.test('before any tenant is known, everything counts, and nothing is deleted', async (t) => {
  const { former, counted, stored } = setUp();
  t.same(counted(), ['first', 'old', 'second', 'young']);
  await former.sweep();
  t.equal(stored().length, 4);
});

t.test(
  'after the tenant was made anew, what was stored for the former one neither counts nor stays',
  async (t) => {
    const { tenants, exists, former, counted, listed, stored } = setUp();
    listOf(tenants, FIRST);
    t.same(counted(), ['first', 'old', 'young'], 'another UID is refused');
    tenants.delete(FIRST);
    tenants.put(SECOND);
    t.same(counted(), ['second', 'young']);
    t.same(listed(), ['second', 'young']);
    exists(SECOND);
    await former.sweep();
    t.same(stored(), ['acme.second', 'acme.young']);
  },
);

t.test('nothing is deleted because a list lacks the tenant, or its watch is silent', async (t) => {
  const { tenants, former, stored, counted } = setUp();
  listOf(tenants, FIRST);
  listOf(tenants);
  t.same(counted(), ['first', 'old', 'young']);
  await former.sweep();
  t.same(stored(), ['acme.first', 'acme.old', 'acme.young']);
});

t.test('after the event of a deletion, the API server has to say so too', async (t) => {
  const { tenants, objects, exists, former, stored, counted } = setUp();
  listOf(tenants, FIRST);
  tenants.delete(FIRST);
  t.same(counted(), []);
  objects.before = () => {
    throw new StatusError('UpstreamUnavailable', 'down');
  };
  await t.rejects(former.sweep(), { code: 'UpstreamUnavailable' });
  t.equal(stored().length, 4);
  objects.before = () => {};
  exists(FIRST);
  await former.sweep();
  t.same(stored(), ['acme.first', 'acme.old', 'acme.young'], 'the tenant exists');
  objects.drop(KINDS.Tenant, {}, 'acme');
  await former.sweep();
  t.same(stored(), []);
});

t.test('what is stored has the UID of the tenant that exists', async (t) => {
  const { tenants, objects, exists } = setUp();
  const labels = () => tenants.labelsFor('acme', objects, SIGNAL);
  exists(SECOND);
  t.same(await labels(), {}, 'as long as Stonegate may not list tenants');
  listOf(tenants);
  t.same(await labels(), { [LABEL]: 'second' }, 'the tenant was made a moment ago');
  tenants.put(FIRST);
  t.same(await labels(), { [LABEL]: 'first' });
  tenants.delete(FIRST);
  t.same(await labels(), { [LABEL]: 'second' });
  objects.drop(KINDS.Tenant, {}, 'acme');
  t.same(await labels(), {});
});
