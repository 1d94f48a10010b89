import t from 'tap';
import { parse } from 'yaml';
import { PolicySources } from '../../../../src/features/cross-tenant/policy-sources.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { DOWN, scriptedResource } from '../../../support/scripted-resource.ts';

t.test(
  'facts that were not confirmed for three minutes do not count until they are confirmed again',
  async (t) => {
    const clock = createFakeClock(1_000_000);
    const tenants = scriptedResource();
    const acme = { metadata: { name: 'acme', resourceVersion: '3' } };
    tenants.listWith({ items: [acme], revision: '10' });
    const sources = new PolicySources({
      enabled: parse(
        '{abac: true, administrations: false, tenantAdministrations: false, crossTenantPolicies: false}',
      ),
      systemTenant: 'system',
      upstream: tenants.upstream,
      clock,
      random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
      logger: silentLogger,
      telemetry: noTelemetry,
    });
    let updates = 0;
    sources.onUpdate(() => {
      updates += 1;
    });
    const names = () => sources.facts().tenants.map(({ name }) => name);
    t.same([...sources.currentForms()], []);
    sources.informers.start();
    t.teardown(() => sources.informers.stop());
    const watch = await tenants.watch(1);
    t.same(names(), ['acme']);
    t.same(
      [...sources.currentForms()],
      ['abac', 'administration', 'tenant'],
      'a form that is not enabled needs no list',
    );
    t.equal(sources.expiresAt(), 1_180_000);
    t.equal(updates, 1);
    tenants.listWith(DOWN);
    watch.breakOff();
    clock.advance(180_000);
    t.same(names(), []);
    t.equal(sources.expiresAt(), undefined);
    tenants.listWith({ items: [acme], revision: '10' });
    await eventually(() => {
      if (clock.untilNext <= 31_000) clock.advance(clock.untilNext);
      return updates === 2;
    });
    t.same(names(), ['acme']);
  },
);
