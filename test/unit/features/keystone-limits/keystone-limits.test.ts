import t from 'tap';
import {
  type QuotaOfLimits,
  quotaOfLimits,
} from '../../../../src/features/keystone-limits/keystone-limits.ts';
import { keystoneLimitsSchema } from '../../../../src/features/keystone-limits/keystone-limits-configuration.ts';
import type { KeystoneLimits } from '../../../../src/identity/keystone/keystone-limits.ts';
import { eachRow } from '../../../support/rows.ts';

type Numbers = Readonly<Record<string, number>>;

const web = { id: 'p-web' };
const shop = { id: 'p-shop' };
const acme = { id: 'd-acme' };
const PROJECTS = [web, shop];

function quotaOf(
  limits: Partial<Record<'registered' | 'acme' | 'web' | 'shop', Numbers>> &
    Partial<Pick<KeystoneLimits, 'model'>>,
  configured: object = {},
): QuotaOfLimits {
  const mapOf = (numbers: Numbers = {}) => new Map(Object.entries(numbers));
  return quotaOfLimits(
    {
      model: limits.model ?? 'flat',
      registered: mapOf(limits.registered ?? { pods: 10 }),
      ofDomains: new Map([[acme.id, mapOf(limits.acme)]]),
      ofProjects: new Map([
        [web.id, mapOf(limits.web)],
        [shop.id, mapOf(limits.shop)],
      ]),
    },
    keystoneLimitsSchema.parse({ service: 'kubernetes', resources: { pods: 'pods' }, ...configured }),
  );
}

const podsOf = (quota: QuotaOfLimits) => quota.ofProject(web).pods;
const podsOfAll = (quota: QuotaOfLimits) => quota.ofDomain(acme, PROJECTS).pods;

t.test(
  'D226 flat: a project has its own limit, else the registered one; -1 means unlimited, 0 means nothing',
  async (t) => {
    t.equal(podsOf(quotaOf({})), '10');
    t.equal(podsOf(quotaOf({ web: { pods: 20 } })), '20');
    t.notOk('pods' in quotaOf({ web: { pods: -1 } }).ofProject(web));
    t.equal(podsOf(quotaOf({ web: { pods: 0 } })), '0');
  },
);

t.test(
  'flat: a tenant may use what its projects may use together, unless its domain has a limit',
  async (t) => {
    t.equal(podsOfAll(quotaOf({})), '20');
    t.equal(podsOfAll(quotaOf({ web: { pods: 20 }, shop: { pods: 0 } })), '20');
    t.equal(podsOfAll(quotaOf({ acme: { pods: 5 }, web: { pods: 20 } })), '5');
    t.equal(podsOfAll(quotaOf({ web: { pods: -1 } })), undefined, 'a project is unlimited');
    t.equal(podsOfAll(quotaOf({ acme: { pods: 5 }, web: { pods: -1 } })), '5');
    t.equal(quotaOf({}).ofDomain(acme, []).pods, '10', 'a domain without projects');
  },
);

t.test('D228 strict_two_level: the limit of the domain bounds the sum of its projects', async (t) => {
  const model = 'strict_two_level';
  const quota = quotaOf({ model, acme: { pods: 20 }, web: { pods: 8 }, shop: { pods: 8 } });
  t.equal(podsOfAll(quota), '20');
  t.equal(podsOf(quota), '8');
  t.equal(podsOfAll(quotaOf({ model, web: { pods: 8 }, shop: { pods: 8 } })), '10', 'the registered limit');
});

t.test('strict_two_level: -1 is unlimited at its own level only', async (t) => {
  const model = 'strict_two_level';
  const unlimitedProject = quotaOf({ model, acme: { pods: 20 }, web: { pods: -1 } });
  t.same([podsOf(unlimitedProject), podsOfAll(unlimitedProject)], [undefined, '20']);
  const unlimitedDomain = quotaOf({ model, acme: { pods: -1 }, web: { pods: 8 } });
  t.same([podsOf(unlimitedDomain), podsOfAll(unlimitedDomain)], ['8', undefined]);
});

t.test('D227 a resource without a registered limit may not be used at all', async (t) => {
  const resources = { resources: { pods: 'pods', 'requests.cpu': 'cores' } };
  const quota = quotaOf({}, resources);
  t.match(quota.ofProject(web), { pods: '10', 'requests.cpu': '0' });
  t.match(quota.ofDomain(acme, PROJECTS), { pods: '20', 'requests.cpu': '0' });
  t.match(quota.refusals, [{ subject: /requests\.cpu/, reason: /^no registered limit "cores"/ }]);

  const unlimited = quotaOf({}, { ...resources, unregistered: 'unlimited' });
  t.notOk('requests.cpu' in unlimited.ofProject(web));
  t.same(unlimited.refusals, []);
});

t.test('limits are quantities in the unit of the configuration, as the API server writes them', async (t) => {
  const memory = (ram: number, unit?: string) =>
    quotaOf(
      { registered: { ram } },
      { resources: { 'requests.memory': unit === undefined ? 'ram' : { name: 'ram', unit } } },
    ).ofProject(web)['requests.memory'];
  await eachRow(
    `
    1024  | Mi | 1Gi
    1536  | Mi | 1536Mi
    2     | Ti | 2Ti
    0     | Gi | 0
    20000 |    | 20k
    1024  |    | 1024
    5     | G  | 5G`,
    (ram, unit, quantity) => t.equal(memory(Number(ram), unit || undefined), quantity, `${ram} ${unit}`),
  );
});

t.test(
  'roles and role bindings in a project are bounded, though Keystone has no limit for them',
  async (t) => {
    const counts = {
      roles: 'count/roles.rbac.authorization.k8s.io',
      bindings: 'count/rolebindings.rbac.authorization.k8s.io',
    };
    t.match(quotaOf({}).ofProject(web), { [counts.roles]: '200', [counts.bindings]: '200' });
    t.match(quotaOf({}, { roles: 20, roleBindings: 30 }).ofProject(web), {
      [counts.roles]: '20',
      [counts.bindings]: '30',
    });
    t.notOk(counts.roles in quotaOf({}).ofDomain(acme, PROJECTS));
  },
);
