/** Policies in force follow what they are made of, soon and at a bounded cost. */
import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createPoliciesInForce } from '../../../src/policy/policies-in-force.ts';
import { createPolicySet } from '../../../src/policy/policy-set.ts';
import { PolicyUpdates } from '../../../src/policy/policy-updates.ts';
import type { PolicyFacts } from '../../../src/policy/ports.ts';
import type { PolicySources } from '../../../src/policy/resolve.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import {
  attributes,
  crossTenantPolicy,
  entry,
  policyFacts,
  resolvedPolicies,
} from '../../support/policies.ts';

const DEV = entry('dora', { groups: ['devs'] });
const GET_PODS = attributes('get', 'pods');

/** @param cost of a resolution, in milliseconds */
function followed({ cost = 0 } = {}) {
  const clock = createFakeClock();
  const inForce = createPoliciesInForce(createPolicySet([]));
  let facts: PolicyFacts = policyFacts();
  let tell = () => {};
  let resolutions = 0;
  const updates = new PolicyUpdates({
    source: {
      facts: () => facts,
      currentForms: () => new Set(['abac', 'tenant'] as const),
      expiresAt: () => undefined,
      onUpdate(call) {
        tell = call;
        return () => {};
      },
    },
    resolve(current: PolicySources['facts'], now) {
      resolutions += 1;
      if (cost > 0) clock.advance(cost);
      return resolvedPolicies({ facts: current }, {}, now);
    },
    inForce,
    clock,
    logger: silentLogger,
  });
  let changes = 0;
  inForce.onChange(() => {
    changes += 1;
  });
  updates.start();
  return {
    clock,
    updates,
    mayRead: () => inForce.permits(DEV, GET_PODS, clock.now()) !== undefined,
    become(next: Partial<PolicyFacts>) {
      facts = policyFacts(next);
      tell();
    },
    resolutions: () => resolutions,
    changes: () => changes,
  };
}

t.test('a policy takes effect at once, and so does its removal', (t) => {
  const { clock, become, mayRead } = followed();
  become({ crossTenantPolicies: [crossTenantPolicy()] });
  clock.advance(50);
  t.ok(mayRead());
  become({});
  clock.advance(50);
  t.notOk(mayRead());
  t.end();
});

t.test('a tenant that changes its policies all the time takes a bounded part of the process', (t) => {
  const { clock, become, mayRead, resolutions } = followed({ cost: 40 });
  const before = resolutions();
  for (let change = 0; change < 1_000; change += 1) {
    become({ crossTenantPolicies: [crossTenantPolicy({ namespaces: [`n${change}`] })] });
    clock.advance(10);
  }
  t.ok(resolutions() - before <= 25, `10 seconds, each resolution takes 40 ms: ${resolutions() - before}`);
  become({});
  clock.advance(500);
  t.notOk(mayRead(), 'and yet the removal of a policy takes effect within a second');
  t.end();
});

t.test('a clock that is set back holds up no change', (t) => {
  const { clock, become, mayRead } = followed({ cost: 40 });
  clock.advance(-3_600_000);
  become({ crossTenantPolicies: [crossTenantPolicy()] });
  clock.advance(500);
  t.ok(mayRead());
  t.end();
});

t.test('what is proven again changes nothing: no stream is checked, no object is read', (t) => {
  const { clock, updates, become, changes } = followed();
  become({ crossTenantPolicies: [crossTenantPolicy()] });
  clock.advance(50);
  const before = changes();
  let told = 0;
  updates.onChange(() => {
    told += 1;
  });
  become({ crossTenantPolicies: [crossTenantPolicy()] });
  clock.advance(50);
  t.equal(changes(), before);
  t.equal(told, 0);
  become({ crossTenantPolicies: [crossTenantPolicy({ namespaces: ['web'] })] });
  clock.advance(50);
  t.equal(changes(), before + 1);
  t.equal(told, 1);
  t.end();
});
