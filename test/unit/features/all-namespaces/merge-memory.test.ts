/**
 * Concurrent large lists follow one another, and none is refused because of the others. A client that does
 * not read, lists of little, and other tenants neither wait for them nor delay them.
 */
import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createMergeTurns } from '../../../../src/features/all-namespaces/merge-memory.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../../../src/kubernetes/upstream-ports.ts';
import { ByteBudget } from '../../../../src/limits/byte-budget.ts';
import { MADE_RESPONSES } from '../../../../src/limits/memory-bounds.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { allNamespacesSite, podReader } from '../../../support/all-namespaces.ts';
import { eventually } from '../../../support/eventually.ts';
import { passUntil } from '../../../support/fake-clock.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { outgoingOf } from '../../../support/outgoing.ts';
import { rbacObjects } from '../../../support/rbac-objects.ts';

const MEBIBYTE = 1024 * 1024;
const PLACES = Array.from({ length: 12 }, (_, at) => `big-${String(at).padStart(2, '0')}`);

/** The blanks behind it take memory, and no time to read. */
function listOf(bytes: number): UpstreamResponse {
  const list = JSON.stringify({ kind: 'PodList', metadata: { resourceVersion: '500' }, items: [] });
  return { status: 200, headers: [], body: Buffer.from(list.padEnd(bytes)) };
}

/** One namespace of 12: a list of all is 6 MiB. */
const LARGE = listOf(MEBIBYTE / 2);
const SMALL = listOf(10);

/** Alice lists pods, which are many, in all places, and widgets, which are few, in two. */
function startSite() {
  const index = accessIndexOf(
    ...podReader(PLACES),
    ...rbacObjects(`
    ClusterRole lister: list widgets
    RoleBinding ${PLACES[0]}/widgets: ClusterRole/lister to User acme:alice
    RoleBinding ${PLACES[1]}/widgets: ClusterRole/lister to User acme:alice
    Namespace elsewhere
    RoleBinding elsewhere/dave: ClusterRole/pod-reader to User globex:dave`),
  );
  const memory = new ByteBudget(MADE_RESPONSES);
  const turns = createMergeTurns(index.clock);
  const faults: (UpstreamResponse | StatusError)[] = [];
  const count = { requests: 0 };
  const fetcher: UpstreamFetcher = {
    async fetch({ target }) {
      count.requests += 1;
      if (target.includes('/widgets')) return SMALL;
      const fault = faults.shift();
      if (fault instanceof StatusError) throw fault;
      return fault ?? LARGE;
    },
  };
  const site = allNamespacesSite({ index, changes: { fetcher, memory, turns } });
  const ask = async (target: string, name = 'alice', home = 'acme') => {
    const exchange = fakeExchange({ target });
    const answered = await site.handle(outgoingOf(site.mode, keystoneIdentity(name, { home }), exchange));
    if (answered === undefined || !('body' in answered)) throw new Error('no list');
    return answered;
  };
  return {
    ...site,
    ...{ memory, turns, faults, count },
    list: () => ask('/api/v1/pods'),
    /** Five lists whose clients do not read them: no other large list has room. */
    async unread() {
      const lists: UpstreamResponse[] = [];
      for (let at = 0; at < 5; at += 1) lists.push(await ask('/api/v1/pods'));
      const release = () => {
        for (const list of lists) list.release?.();
      };
      return { bytes: memory.reserved / lists.length, release };
    },
    small: () => ask('/api/v1/widgets'),
    ofAnotherTenant: () => ask('/api/v1/pods', 'dave', 'globex'),
  };
}

/** A client that reads what it is sent. */
const read = async (list: Promise<UpstreamResponse>): Promise<number> => {
  const { status, release } = await list;
  release?.();
  return status;
};

t.test('twelve large lists at once succeed, also beside a client that does not read', async (t) => {
  const site = startSite();
  const unread = await site.list();
  const lists = Promise.all(Array.from({ length: 12 }, () => read(site.list())));
  t.same(await lists, Array(12).fill(200));
  t.equal(site.memory.reserved, 6 * MEBIBYTE, 'what is not read yet');
  unread.release?.();
  t.equal(site.memory.reserved, 0);
  t.ok(site.count.requests < 13 * 12 * 2, `no list is requested more than twice: ${site.count.requests}`);
  t.equal(site.turns.inUse, 0);
});

t.test(
  'lists that wait for the memory of unread responses hold none; one after the other is woken',
  async (t) => {
    const site = startSite();
    const unread = await site.unread();
    const large = Promise.all(Array.from({ length: 12 }, () => read(site.list())));
    await eventually(() => site.turns.queued === 11 && site.clock.pending > 0);
    t.equal(site.memory.reserved, 5 * unread.bytes);
    t.equal(await read(site.small()), 200, 'a list of little does not wait for them');
    t.equal(await read(site.ofAnotherTenant()), 200, 'nor does one of another tenant');
    unread.release();
    t.same(await large, Array(12).fill(200));
    t.equal(site.memory.reserved, 0);
  },
);

t.test('beyond its bounds of number and time a wait ends with 429', async (t) => {
  const full = { code: 'TenantRateExceeded', http: 429 };
  const site = startSite();
  const unread = await site.unread();
  const lists = Array.from({ length: 17 }, () => read(site.list()));
  await eventually(() => site.turns.queued === 16);
  await t.rejects(site.list(), full, 'one has the turn, and sixteen wait');
  const late = Promise.allSettled(lists);
  t.match(await passUntil(site.clock, late), Array(17).fill({ status: 'rejected', reason: full }));
  unread.release();
  t.equal(site.memory.reserved, 0);
  t.equal(site.turns.inUse, 0);
});

t.test('a list gives back its turn and memory while it waits for a refused namespace', async (t) => {
  const site = startSite();
  const refused: UpstreamResponse = { status: 403, headers: [], body: Buffer.from('{}') };
  site.faults.push(...Array(8).fill(LARGE), refused);
  const list = read(site.list());
  await eventually(() => site.clock.pending > 0);
  t.equal(site.memory.reserved, 0);
  t.equal(site.turns.inUse, 0);
  t.equal(await read(site.list()), 200, 'another list takes the turn');
  t.equal(await passUntil(site.clock, list), 200);
});

t.test('what is too much at the same time as other lists is requested again in turn', async (t) => {
  const busy = new StatusError('TenantRateExceeded', 'too many large responses are read at once');
  const site = startSite();
  const tooBusy = [LARGE, ...Array(8).fill(busy)];
  site.faults.push(...tooBusy);
  t.equal(await read(site.list()), 200);
  site.faults.push(...tooBusy, ...tooBusy);
  await t.rejects(site.list(), { code: 'TenantRateExceeded' }, 'in its turn it is the only one');
  t.equal(site.memory.reserved, 0);
  t.equal(site.turns.inUse, 0);
});
