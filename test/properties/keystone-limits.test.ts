/** Whatever limits Keystone has: what is allowed in the cluster is never more. */
import fc from 'fast-check';
import t from 'tap';
import { type Hard, quotaOfLimits } from '../../src/features/keystone-limits/keystone-limits.ts';
import { keystoneLimitsSchema } from '../../src/features/keystone-limits/keystone-limits-configuration.ts';
import { type KeystoneLimits, UNLIMITED } from '../../src/identity/keystone/keystone-limits.ts';

const PROJECTS = [{ id: 'p0' }, { id: 'p1' }, { id: 'p2' }];
const DOMAIN = { id: 'd0' };
const configuration = keystoneLimitsSchema.parse({ service: 'kubernetes', resources: { pods: 'pods' } });

const limit = fc.integer({ min: UNLIMITED, max: 12 });
const own = fc.option(limit, { nil: undefined });
const keystone = fc.record({
  model: fc.constantFrom('flat' as const, 'strict_two_level' as const),
  registered: own,
  domain: own,
  projects: fc.tuple(own, own, own),
});
const claims = fc.array(fc.nat({ max: PROJECTS.length - 1 }), { maxLength: 60 });

const limitsOf = (pods: number | undefined) => new Map(pods === undefined ? [] : [['pods', pods]]);

function limitsIn({ model, registered, domain, projects }: Drawn): KeystoneLimits {
  return {
    model,
    registered: limitsOf(registered),
    ofDomains: new Map([[DOMAIN.id, limitsOf(domain)]]),
    ofProjects: new Map(projects.map((pods, index) => [`p${index}`, limitsOf(pods)])),
  };
}

type Drawn = typeof keystone extends fc.Arbitrary<infer Value> ? Value : never;

/** As the API server and the TenantQuota admit one pod after another. */
function admitted(claims: readonly number[], hards: readonly Hard[], ofTenant: Hard): number[] {
  const used = PROJECTS.map(() => 0);
  for (const project of claims) {
    const mine = used[project] ?? 0;
    const all = used.reduce((sum, one) => sum + one, 0);
    if (mine < bound(hards[project]) && all < bound(ofTenant)) used[project] = mine + 1;
  }
  return used;
}

const bound = (hard: Hard | undefined) => Number(hard?.pods ?? Number.POSITIVE_INFINITY);
const atMost = (pods: number) => (pods === UNLIMITED ? Number.POSITIVE_INFINITY : pods);

t.test('D228 no project and, in strict_two_level, no sum of projects exceeds its limit', async () => {
  fc.assert(
    fc.property(keystone, claims, (drawn, claims) => {
      const quota = quotaOfLimits(limitsIn(drawn), configuration);
      const hards = PROJECTS.map((project) => quota.ofProject(project));
      const used = admitted(claims, hards, quota.ofDomain(DOMAIN, PROJECTS));
      const registered = drawn.registered ?? 0;
      const sum = used.reduce((all, one) => all + one, 0);
      const ofDomain = drawn.domain ?? (drawn.model === 'flat' ? UNLIMITED : registered);
      return (
        used.every((pods, index) => pods <= atMost(drawn.projects[index] ?? registered)) &&
        sum <= atMost(ofDomain)
      );
    }),
  );
});

t.test('D226 flat: without a limit of the domain, each project may use its whole limit', async () => {
  fc.assert(
    fc.property(keystone, (drawn) => {
      const quota = quotaOfLimits(limitsIn({ ...drawn, model: 'flat', domain: undefined }), configuration);
      const sum = PROJECTS.reduce((all, project) => all + bound(quota.ofProject(project)), 0);
      return bound(quota.ofDomain(DOMAIN, PROJECTS)) >= sum;
    }),
  );
});
