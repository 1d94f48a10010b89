import t from 'tap';
import { parse } from 'yaml';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { RequestProvisioning } from '../../../../src/features/bindings/on-request.ts';
import type { ProvisioningScope } from '../../../../src/features/bindings/plan.ts';
import type { ApplyResult } from '../../../../src/kubernetes/reconcile/apply.ts';
import type { Plan } from '../../../../src/kubernetes/reconcile/plan.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import type { Identity, IdentityScope, QualifiedIdentity } from '../../../../src/tenancy/identity.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { alice } from '../../../support/fake-pipeline.ts';

const INTERVAL = 300_000;
const NOTHING: Plan = {
  ...parse('{changes: [], refusals: [], unread: [], unchanged: 0}'),
  guarded: new Map(),
};
const DONE: ApplyResult = { done: [], failures: [], heldBack: [] };
const web: IdentityScope = { kind: 'project', id: 'p1', name: 'web', roles: ['member'] };

const as = (scope: IdentityScope, uid = 'u1'): QualifiedIdentity => ({ ...alice, uid, scope });
const never = new AbortController().signal;

function setUp({ subjects = 'groups' }: { readonly subjects?: 'groups' | 'users' } = {}) {
  const clock = createFakeClock();
  const claims: ProvisioningScope[] = [];
  const work: { plan: () => Promise<Plan>; result: ApplyResult } = {
    plan: async () => NOTHING,
    result: DONE,
  };
  const provisioning = new RequestProvisioning({
    reconcilerFor(claim) {
      claims.push(claim);
      return { plan: () => work.plan(), apply: async () => work.result };
    },
    subjects,
    interval: INTERVAL,
    clock,
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  return {
    ...{ clock, claims, work },
    ensure: (identity: Identity, signal: AbortSignal) => provisioning.ensure(identity, signal),
    close: () => provisioning.close(),
  };
}

/** Runs everything that does not wait for a timer. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

t.test('nothing is provisioned for a token without a project and its domain', async (t) => {
  const { ensure, claims } = setUp();
  const { scope: _scope, ...unscoped } = as(web);
  const identities: Identity[] = [
    unscoped,
    as({ kind: 'unscoped', roles: [] }),
    as({ kind: 'system', roles: ['reader'] }),
    as({ kind: 'domain', id: 'another', name: 'x', roles: ['admin'] }),
    { ...as(web), tenantOrigin: { from: 'issuer', tenant: 'acme' } },
    { ...as(web), tenantOrigin: { from: 'nowhere' } },
  ];
  for (const identity of identities) t.equal(ensure(identity, never), undefined);
  t.same(claims, []);
});

t.test('concurrent requests share one provisioning run, and later requests do not wait', async (t) => {
  const { ensure, claims } = setUp();
  await Promise.all(['u1', 'u2', 'u3'].map((uid) => ensure(as(web, uid), never)));
  t.equal(claims.length, 1);
  t.equal(ensure(as(web, 'u4'), never), undefined);
});

t.test('after the interval, provisioning runs again, and no request waits for it', async (t) => {
  const { ensure, claims, clock } = setUp();
  await ensure(as(web), never);
  clock.advance(INTERVAL - 1);
  ensure(as(web), never);
  t.equal(claims.length, 1);
  clock.advance(1);
  t.equal(ensure(as(web), never), undefined);
  await settle();
  t.equal(claims.length, 2);
});

t.test('requests wait a few seconds from the start of provisioning, and no longer', async (t) => {
  const { ensure, work, clock } = setUp();
  work.plan = () => new Promise(() => {});
  const first = ensure(as(web), never);
  clock.advance(2_000);
  const second = ensure(as(web), never);
  t.ok(first && second);
  clock.advance(1_000);
  await t.resolves(Promise.all([first, second]));
  t.equal(ensure(as(web), never), undefined);
});

t.test('a client that disconnects waits no longer', async (t) => {
  const { ensure, work, clock } = setUp();
  work.plan = () => new Promise(() => {});
  const controller = new AbortController();
  const waiting = ensure(as(web), controller.signal);
  controller.abort();
  await t.resolves(Promise.resolve(waiting));
  t.equal(clock.pending, 0);
});

t.test('after a failure, provisioning is tried again some seconds later', async (t) => {
  const { ensure, work, claims, clock } = setUp();
  work.plan = () => Promise.reject(new StatusError('KeystoneUnavailable', 'Service Unavailable: gone'));
  await t.resolves(Promise.resolve(ensure(as(web), never)));
  t.equal(ensure(as(web), never), undefined, 'no request waits for what has just failed');
  clock.advance(9_999);
  t.equal(ensure(as(web), never), undefined);
  clock.advance(1);
  work.plan = async () => NOTHING;
  await ensure(as(web), never);
  t.equal(claims.length, 2);
});

t.test('a few projects are provisioned at a time; the others wait in order', async (t) => {
  const { ensure, work, claims } = setUp();
  const ends: (() => void)[] = [];
  work.plan = () => new Promise((resolve) => ends.push(() => resolve(NOTHING)));
  for (let index = 0; index < 8; index += 1) void ensure(as({ ...web, id: `p${index}` }), never);
  await settle();
  t.equal(claims.length, 4);
  ends.shift()?.();
  await settle();
  t.same(
    claims.map(({ project }) => project?.id),
    ['p0', 'p1', 'p2', 'p3', 'p4'],
  );
});

t.test('with subjects `users`, each user is provisioned, and again if their roles change', async (t) => {
  const { ensure, claims } = setUp({ subjects: 'users' });
  await ensure(as({ ...web, roles: ['member', 'reader'] }, 'u1'), never);
  await ensure(as({ ...web, roles: ['reader', 'member'] }, 'u1'), never);
  t.equal(claims.length, 1);
  await ensure(as(web, 'u2'), never);
  await ensure(as({ ...web, roles: ['admin'] }, 'u1'), never);
  t.equal(claims.length, 3);
});

t.test('closing ends running provisioning, starts none that waits, and lets requests proceed', async (t) => {
  const { ensure, work, claims, close } = setUp();
  work.plan = () => new Promise(() => {});
  const waiting = Array.from({ length: 6 }, (_, index) => ensure(as({ ...web, id: `p${index}` }), never));
  await settle();
  await close();
  await t.resolves(Promise.all(waiting));
  t.equal(claims.length, 4);
  t.equal(ensure(as({ ...web, id: 'later' }), never), undefined);
});
