import t from 'tap';
import { createKeystoneQuota } from '../../../../src/features/keystone-limits/feature.ts';
import { keystoneLimitsSchema } from '../../../../src/features/keystone-limits/keystone-limits-configuration.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { limitsClient } from '../../../support/keystone/limits-client.ts';

const pods = { service_id: 's1', region_id: null, resource_name: 'pods' };

t.test('each domain that is a tenant has the quota of its projects, and defaults for the rest', async (t) => {
  const quota = createKeystoneQuota({
    client: limitsClient({
      '/registered_limits?service_id=s1': { registered_limits: [{ ...pods, default_limit: 10 }] },
      '/limits?service_id=s1': { limits: [{ ...pods, domain_id: 'd-globex', resource_limit: 7 }] },
    }),
    directory: {
      domains: async () =>
        ['acme', 'globex', 'Not a tenant'].map((name) => ({ id: `d-${name}`, name, enabled: true })),
      projects: async () =>
        ['d-acme', 'd-globex', 'd-acme'].map((domainID, at) => ({
          ...{ id: `p-${at}`, name: 'web', domainID },
          enabled: at > 0,
        })),
    },
    mode: createSharedMode({ domains: {}, reservedNamePrefixes: [] }),
    configuration: keystoneLimitsSchema.parse({ service: 'kubernetes', resources: { pods: 'pods' } }),
    byDefault: { pods: '5', services: '3' },
    clock: createFakeClock(),
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  await eventually(async () => quota.ofTenants() !== undefined);
  t.same(quota.ofTenants(), {
    hards: new Map([
      ['acme', { pods: '20', services: '3' }],
      ['globex', { pods: '7', services: '3' }],
    ]),
    refusals: [],
  });
});
