/** How old the facts are from which policies follow. */
import t from 'tap';
import { PolicySources } from '../../../src/clients/policy-sources.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { scriptedResource } from '../../support/scripted-resource.ts';

t.test('what cannot be listed is as old as the process', async (t) => {
  const clock = createFakeClock(1_000_000);
  const present = scriptedResource();
  const missing = scriptedResource();
  missing.listWith(404);
  const of = (target: string) => (target.includes('crosstenantpolicies') ? missing : present).upstream;
  const sources = new PolicySources({
    enabled: { abac: false, administrations: false, tenantAdministrations: false, crossTenantPolicies: true },
    systemTenant: 'system',
    upstream: () => ({
      fetch: (request, signal) => of(request.target).fetch(request, signal),
      stream: (request, signal) => of(request.target).stream(request, signal),
    }),
    clock,
    random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  t.equal(sources.age(), undefined, 'before the start nothing has an age');
  sources.start();
  t.teardown(() => sources.stop());
  await eventually(() => present.watches.length === 2 && missing.lists.length === 1);
  clock.advance(500);
  t.equal(sources.age(), 500);
  missing.listWith({ items: [], revision: '10' });
  clock.advance(1_000);
  await eventually(() => missing.watches.length === 1);
  t.equal(sources.age(), 1_500, 'now the lists of the start are the oldest');
});
