import t, { type Test } from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createObjects } from '../../../../src/kubernetes/objects.ts';
import { createLease, LEASE_RENEWAL, LEASE_TTL } from '../../../../src/kubernetes/reconcile/lease.ts';
import type { UpstreamFetcher } from '../../../../src/kubernetes/upstream-ports.ts';
import { STONEGATE_ACCOUNT } from '../../../../src/kubernetes/upstream-request.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

interface Stored {
  metadata: { name: string; resourceVersion: string };
  spec: Record<string, unknown>;
}

/** One Lease as an API server stores it, and replicas that compete for it. */
function createSite() {
  const clock = createFakeClock(Date.UTC(2026, 0, 1));
  const state: {
    stored?: Stored | undefined;
    fault?: (method: string) => number | string | Error | undefined;
    /** Called before a write takes effect. */
    meanwhile?: (() => Promise<unknown>) | undefined;
    requests: string[];
  } = { requests: [] };
  let revision = 0;
  const fetcher: UpstreamFetcher = {
    async fetch({ method, target, body = '' }, signal) {
      state.requests.push(`${method} ${target}`);
      const reply = (status: number, content: unknown = {}) => ({
        status,
        headers: [],
        body: Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)),
      });
      const fault = state.fault?.(method);
      if (fault instanceof Error) throw fault;
      if (fault === 'never')
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      if (fault !== undefined) return typeof fault === 'number' ? reply(fault) : reply(200, fault);
      if (method === 'GET') return state.stored === undefined ? reply(404) : reply(200, state.stored);
      const given: Stored = JSON.parse(body.toString());
      const { meanwhile } = state;
      state.meanwhile = undefined;
      await meanwhile?.();
      const current = state.stored?.metadata.resourceVersion;
      if (method === 'POST' ? current !== undefined : current !== given.metadata.resourceVersion)
        return reply(409, { reason: method === 'POST' ? 'AlreadyExists' : 'Conflict' });
      revision += 1;
      state.stored = { ...given, metadata: { ...given.metadata, resourceVersion: String(revision) } };
      return reply(method === 'POST' ? 201 : 200, state.stored);
    },
  };
  const replica = (uuid: string) =>
    createLease({
      objects: createObjects(fetcher, STONEGATE_ACCOUNT),
      place: { tenant: 'system', namespace: 'kube-system' },
      name: 'stonegate-policies',
      clock,
      random: { bytes: (size) => Buffer.alloc(size), uuid: () => uuid, fraction: () => 0 },
    });
  return { clock, state, replica };
}

t.test(
  'a Lease that its holder does not renew is taken over, measured by the replica’s own clock',
  async (t) => {
    const { clock, state, replica } = createSite();
    const [one, other] = [replica('one'), replica('other')];
    await one.hold();
    // The holder's clock is years behind.
    if (state.stored) state.stored.spec.renewTime = '2001-01-01T00:00:00.000000Z';
    t.equal(await other.hold(), false);
    clock.advance(LEASE_TTL - 1);
    t.equal(await other.hold(), false);
    clock.advance(1);
    t.equal(await other.hold(), true);
    t.match(state.stored?.spec, { holderIdentity: 'other', leaseTransitions: 2 });
    t.equal(await one.hold(), false, 'the former holder no longer holds it');
  },
);

t.test('a holder that renews its Lease keeps it, however long, and no standby takes it over', async (t) => {
  const { clock, state, replica } = createSite();
  const [holder, standby] = [replica('holder'), replica('standby')];
  await holder.hold();
  for (let held = 0; held < 3 * LEASE_TTL; held += LEASE_RENEWAL) {
    t.equal(await standby.hold(), false);
    clock.advance(LEASE_RENEWAL);
    t.equal(await holder.hold(), true);
  }
  t.match(state.stored?.spec, { holderIdentity: 'holder', leaseTransitions: 1 });
});

t.test('if two replicas write at once, one of them holds the Lease', async (t) => {
  const { clock, state, replica } = createSite();
  const [one, other] = [replica('one'), replica('other')];
  state.meanwhile = () => other.hold();
  t.equal(await one.hold(), false, 'the other replica created it meanwhile');
  clock.advance(0);
  await one.hold();
  clock.advance(LEASE_TTL);
  state.meanwhile = () => other.hold();
  t.equal(await one.hold(), false, 'the other replica renewed it meanwhile');
});

const FAULTS: Readonly<Record<string, number | string | Error>> = {
  down: new StatusError('UpstreamUnavailable', 'down'),
  'without rights': 403,
  broken: 500,
  'sending HTML': '<html>',
  'sending an array': '[]',
};
for (const [name, fault] of Object.entries(FAULTS))
  t.test(`no replica holds the Lease while the API server is ${name}`, async (t) => {
    const { state, replica } = createSite();
    const one = replica('one');
    await one.hold();
    state.fault = () => fault;
    await t.rejects(one.hold(), StatusError);
    await t.rejects(one.release(), StatusError);
    delete state.fault;
    t.equal(await one.hold(), true, 'the Lease is held again afterwards');
  });

t.test('a slow API server is waited for no longer than the Lease lasts', async (t: Test) => {
  const { clock, state, replica } = createSite();
  state.fault = () => 'never';
  const held = replica('one').hold();
  await eventually(() => clock.untilNext <= LEASE_TTL / 2);
  clock.advance(clock.untilNext);
  await t.rejects(held, /is slow/);
  t.equal(clock.pending, 0);
});
