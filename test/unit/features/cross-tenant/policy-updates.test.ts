import t from 'tap';
import { createPoliciesInForce } from '../../../../src/features/cross-tenant/policy-set.ts';
import { PolicyUpdates } from '../../../../src/features/cross-tenant/policy-updates.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import type { PolicyForm } from '../../../../src/proxy/tenant-entry.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import {
  attributes,
  crossTenantPolicy,
  entry,
  HOUR,
  NOW,
  policyFacts,
  resolvedPolicies,
} from '../../../support/policies.ts';

const DEV = entry('dora', { groups: ['devs'] });
const ALL: readonly PolicyForm[] = ['abac', 'administration', 'tenant'];

function start(t: { teardown(end: () => void): unknown }) {
  const clock = createFakeClock(NOW);
  const callbacks = new Set<() => void>();
  const state = { policies: [crossTenantPolicy()], forms: ALL, expiresAt: NOW + HOUR };
  const inForce = createPoliciesInForce();
  const counts = { resolutions: 0, changes: 0 };
  const updates = new PolicyUpdates({
    source: {
      facts: () => policyFacts({ crossTenantPolicies: clock.now() < state.expiresAt ? state.policies : [] }),
      currentForms: () => new Set(state.forms),
      expiresAt: () => (clock.now() < state.expiresAt ? state.expiresAt : undefined),
      onUpdate(call) {
        callbacks.add(call);
        return () => callbacks.delete(call);
      },
    },
    resolve(facts, now) {
      counts.resolutions += 1;
      return resolvedPolicies({ facts }, {}, now);
    },
    inForce,
    clock,
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  updates.onChange(() => {
    counts.changes += 1;
  });
  updates.start();
  t.teardown(() => updates.stop());
  return {
    ...{ clock, state, updates, callbacks, counts },
    /** Reports that the facts were read anew. */
    tell() {
      for (const call of callbacks) call();
      clock.advance(1_000);
    },
    isAdmitted: () => inForce.permits(DEV, attributes('list', 'pods'), clock.now()) !== undefined,
  };
}

t.test('a policy takes effect at once, and its removal within a second', async (t) => {
  const site = start(t);
  t.ok(site.isAdmitted());
  site.state.policies = [];
  site.tell();
  t.notOk(site.isAdmitted());
  t.equal(site.counts.changes, 2);
});

t.test('reading the facts without a change is not reported', async (t) => {
  const site = start(t);
  const { changes } = site.counts;
  site.tell();
  site.tell();
  t.equal(site.counts.changes, changes);
});

t.test('facts that are no longer current grant nothing, even without an event', async (t) => {
  const site = start(t);
  site.clock.advance(HOUR);
  t.notOk(site.isAdmitted());
  t.same(site.updates.snapshot?.policies, []);
});

t.test('a policy ends at its notAfter, and the change is reported', async (t) => {
  const site = start(t);
  site.state.policies = [crossTenantPolicy({ notAfter: new Date(NOW + 60_000).toISOString() })];
  site.tell();
  t.ok(site.isAdmitted());
  const { changes } = site.counts;
  site.clock.advance(60_000);
  t.notOk(site.isAdmitted());
  t.equal(site.counts.changes, changes + 1);
});

t.test('a tenant that changes its policies constantly takes a bounded share of the process', async (t) => {
  const site = start(t);
  const { resolutions } = site.counts;
  for (let change = 0; change < 1_000; change += 1) {
    site.state.policies = [crossTenantPolicy({ namespaces: [`n${change}`] })];
    for (const call of site.callbacks) call();
    site.clock.advance(10);
  }
  const count = site.counts.resolutions - resolutions;
  t.ok(count <= 20, `in 10 seconds: ${count}`);
  site.state.policies = [];
  site.tell();
  t.notOk(site.isAdmitted(), 'and yet the removal of a policy takes effect within a second');
});

t.test('a clock that is set back does not delay a change', async (t) => {
  const site = start(t);
  site.clock.advance(-HOUR);
  site.state.policies = [];
  site.tell();
  t.notOk(site.isAdmitted());
});

t.test('nothing runs after the updates are stopped', async (t) => {
  const site = start(t);
  site.updates.stop();
  t.equal(site.clock.pending, 0);
  t.equal(site.callbacks.size, 0);
});
