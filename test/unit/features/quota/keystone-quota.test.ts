import t from 'tap';
import { keystoneLimitsSchema } from '../../../../src/features/quota/keystone-limits-configuration.ts';
import { createKeystoneQuota } from '../../../../src/features/quota/keystone-quota.ts';
import type { KeystoneLimits } from '../../../../src/identity/keystone/keystone-limits.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';

const limits: KeystoneLimits = {
  model: 'flat',
  registered: new Map([['pods', 10]]),
  ofDomains: new Map([['d-globex', new Map([['pods', 7]])]]),
  ofProjects: new Map(),
};

t.test('each domain that is a tenant has the quota of its own projects', async (t) => {
  const quota = createKeystoneQuota({
    limits: { get: async () => limits },
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
  });
  t.same(await quota.ofTenants(), {
    hards: new Map([
      ['acme', { pods: '20' }],
      ['globex', { pods: '7' }],
    ]),
    refusals: [],
  });
});
