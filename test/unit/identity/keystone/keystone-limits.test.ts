/** Which of Keystone's responses about limits are accepted. The integration test uses a real Keystone. */
import t from 'tap';
import { readKeystoneLimits } from '../../../../src/identity/keystone/keystone-limits.ts';
import type { JSONObject } from '../../../../src/lib/json-object.ts';
import type { KeystoneToken } from '../../../../src/tenancy/keystone-v3.ts';
import { limitsClient } from '../../../support/keystone/limits-client.ts';

const registered = { service_id: 's1', region_id: null, resource_name: 'pods', default_limit: 10 };
const limit = { ...registered, domain_id: null, project_id: 'p-web', resource_limit: 8 };

const ANSWERS: Readonly<Record<string, JSONObject>> = {
  '/registered_limits?service_id=s1': { registered_limits: [registered] },
  '/limits?service_id=s1': { limits: [limit] },
};

function limitsOf(answers: Readonly<Record<string, JSONObject>>, scope?: KeystoneToken['scope']) {
  return readKeystoneLimits(limitsClient({ ...ANSWERS, ...answers }, scope), { service: 'kubernetes' });
}

t.test(
  'D230 a limit model is known with hyphens or underscores; an unknown one is refused by name',
  async (t) => {
    for (const name of ['strict-two-level', 'strict_two_level'])
      t.match(await limitsOf({ '/limits/model': { model: { name } } }), { model: 'strict_two_level' });
    const other = limitsOf({ '/limits/model': { model: { name: 'three_level' } } });
    await t.rejects(other, { code: 'KeystoneUnavailable', cause: /by the model three_level/ });
  },
);

t.test('D231 an empty list for an unscoped token is not taken for "no limits"', async (t) => {
  const shown = limitsOf({ '/limits?service_id=s1': { limits: [] } }, { kind: 'unscoped' });
  await t.rejects(shown, { code: 'KeystoneUnavailable', cause: /Stonegate's is unscoped/ });
});

t.test('limits of other services and regions are ignored even if Keystone lists them', async (t) => {
  const others = [
    { ...registered, service_id: 's2', default_limit: 99 },
    { ...registered, region_id: 'east', default_limit: 98 },
  ];
  const limits = [limit, ...others.map((other) => ({ ...limit, ...other, resource_limit: 97 }))];
  t.same(
    await limitsOf({
      '/registered_limits?service_id=s1': { registered_limits: [registered, ...others] },
      '/limits?service_id=s1': { limits },
    }),
    {
      model: 'flat',
      registered: new Map([['pods', 10]]),
      ofDomains: new Map(),
      ofProjects: new Map([['p-web', new Map([['pods', 8]])]]),
    },
  );
});

t.test('a list that is truncated or has a malformed entry is refused as a whole', async (t) => {
  for (const limits of [
    { limits: [limit], truncated: true },
    { limits: [limit, { ...limit, resource_limit: -2 }] },
    { limits: [limit, { ...limit, domain_id: 'p-web' }] },
  ])
    await t.rejects(limitsOf({ '/limits?service_id=s1': limits }), { code: 'KeystoneUnavailable' });
});

t.test('a service name that two services have is refused', async (t) => {
  const services = ['s1', 's2'].map((id) => ({ id, name: 'kubernetes' }));
  await t.rejects(limitsOf({ '/services': { services } }), { cause: /several services "kubernetes"/ });
});
