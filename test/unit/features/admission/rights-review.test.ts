import t from 'tap';
import { createRightsReview } from '../../../../src/features/admission/rights-review.ts';
import type { AccessAttributes } from '../../../../src/kubernetes/access-reviewer.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const alice = { username: 'acme:alice', groups: ['g'] };
const acme = { tenant: toTenantName('acme') };
const globex = { tenant: toTenantName('globex') };
const get = { verb: 'get', group: '', resource: 'pods' };
const caller = { source: '192.0.2.1', signal: new AbortController().signal };

/** An API server that responds when the test says so. */
function site() {
  const asked: AccessAttributes[] = [];
  const users: object[] = [];
  const accounts: object[] = [];
  const responses: PromiseWithResolvers<{ allowed: boolean; denied?: boolean }>[] = [];
  const isAllowed = createRightsReview({
    clock: createFakeClock(),
    random: systemRandom,
    reviewer: {
      review(user, attributes, account) {
        users.push(user);
        asked.push(attributes);
        accounts.push(account);
        const response = Promise.withResolvers<{ allowed: boolean; denied?: boolean }>();
        responses.push(response);
        return response.promise;
      },
    },
  });
  return { isAllowed, asked, users, accounts, responses };
}

t.test('the review names the tenant, and the user as the API server knows them', async (t) => {
  const { isAllowed, asked, users, responses, accounts } = site();
  const user = { ...alice, uid: 'u', extra: { k: ['v'] } };
  const answer = isAllowed(user, { ...get, name: 'p' }, acme, caller);
  await Promise.resolve();
  responses[0]?.resolve({ allowed: true });
  t.equal(await answer, true);
  t.same(asked, [{ resourceAttributes: { ...get, name: 'p', tenant: 'acme' } }]);
  t.same(users, [user]);
  t.same(
    accounts,
    [{ kind: 'stonegate' }],
    'the review does not use connections that the write itself may occupy',
  );
});

t.test('a right on every object is reviewed with a name that no RBAC rule contains', async (t) => {
  const names = [site(), site()].map(({ isAllowed, asked }) => {
    void isAllowed(alice, get, { tenant: undefined }, caller);
    return asked;
  });
  await Promise.resolve();
  const [one, other] = names.map(([first]) =>
    first !== undefined && 'resourceAttributes' in first ? first.resourceAttributes : {},
  );
  t.match(one?.name, /^[0-9a-f-]{36}$/);
  t.not(one?.name, other?.name, 'the author of a rule cannot predict the name');
  t.notOk(one !== undefined && 'tenant' in one, 'an ordinary API server has no tenants');
});

t.test('a right that is denied, or not allowed, is not granted', async (t) => {
  const { isAllowed, responses } = site();
  const answers = [{ allowed: true, denied: true }, { allowed: false }].map(async (response, at) => {
    const answer = isAllowed(alice, get, acme, caller);
    await Promise.resolve();
    responses[at]?.resolve(response);
    return answer;
  });
  t.same(await Promise.all(answers), [false, false]);
});

t.test('a tenant at one address gets only a share of the reviews and of the queue', async (t) => {
  const { isAllowed, asked } = site();
  const ask = (tenant: typeof acme, source = caller.source) =>
    isAllowed(alice, get, tenant, { ...caller, source }).catch((error: unknown) => error);
  const flood = Array.from({ length: 21 }, () => ask(acme));
  t.match(await flood.at(-1), { code: 'AdmissionRateExceeded' }, 'the share of a tenant is bounded');
  t.equal(asked.length, 2);
  void ask(globex);
  void ask(acme, '198.51.100.1');
  await Promise.resolve();
  t.equal(asked.length, 4, 'neither another tenant nor another address is held up');
});

t.test('waiting ends when the request ends', async (t) => {
  const { isAllowed } = site();
  const request = new AbortController();
  for (let at = 0; at < 4; at += 1) void isAllowed(alice, get, acme, caller);
  const waiting = isAllowed(alice, get, acme, { ...caller, signal: request.signal });
  request.abort();
  await t.rejects(waiting, { code: 'UpstreamTimeout' });
});

t.test(
  'without an API server to ask, nothing is allowed, and the message says what is missing',
  async (t) => {
    const isAllowed = createRightsReview({
      clock: createFakeClock(),
      random: systemRandom,
      reviewer: undefined,
    });
    await t.rejects(isAllowed(alice, get, acme, caller), {
      code: 'UpstreamUnavailable',
      message: /no section `upstream`/,
    });
  },
);
