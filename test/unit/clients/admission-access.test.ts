import t from 'tap';
import type { AccessAttributes } from '../../../src/authorization/access-reviewer.ts';
import { createAdmissionAccess, noAdmissionAccess } from '../../../src/clients/admission-access.ts';
import { StatusError } from '../../../src/errors/status-error.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const alice = { username: 'acme:alice', groups: ['g'] };
const acme = { tenant: toTenantName('acme') };
const globex = { tenant: toTenantName('globex') };
const get = { verb: 'get', group: '', resource: 'pods' };
const { signal } = new AbortController();

/** An API server that responds when the test says so. */
function site() {
  const asked: AccessAttributes[] = [];
  const users: object[] = [];
  const accounts: object[] = [];
  const responses: PromiseWithResolvers<{ allowed: boolean; denied?: boolean }>[] = [];
  const access = createAdmissionAccess({
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
      reviewSelf: () => Promise.reject(new Error('no token is known')),
    },
  });
  return { access, asked, users, accounts, responses };
}

t.test('the review names the tenant, and the user as the API server knows them', async (t) => {
  const { access, asked, users, responses, accounts } = site();
  const user = { ...alice, uid: 'u', extra: { k: ['v'] } };
  const answer = access.isAllowed(user, { ...get, name: 'p' }, acme, signal);
  await Promise.resolve();
  responses[0]?.resolve({ allowed: true });
  t.equal(await answer, true);
  t.same(asked, [{ resourceAttributes: { ...get, name: 'p', tenant: 'acme' } }]);
  t.same(users, [user]);
  t.same(accounts, [{ kind: 'stonegate' }], 'not with connections that the write itself may hold');
});

t.test('a right without a name is one on every object: no rule of RBAC holds the name', async (t) => {
  const names = [site(), site()].map(({ access, asked }) => {
    void access.isAllowed(alice, get, { tenant: undefined }, signal);
    return asked;
  });
  await Promise.resolve();
  const [one, other] = names.map(([first]) =>
    first !== undefined && 'resourceAttributes' in first ? first.resourceAttributes : {},
  );
  t.match(one?.name, /^[0-9a-f-]{36}$/);
  t.not(one?.name, other?.name, 'no author of a rule knows it before');
  t.notOk(one !== undefined && 'tenant' in one, 'an ordinary API server has no tenants');
});

t.test('a denial is none, whatever else is allowed', async (t) => {
  const { access, responses } = site();
  const answers = [{ allowed: true, denied: true }, { allowed: false }].map(async (response, at) => {
    const answer = access.isAllowed(alice, get, acme, signal);
    await Promise.resolve();
    responses[at]?.resolve(response);
    return answer;
  });
  t.same(await Promise.all(answers), [false, false]);
});

t.test('one tenant does not hold up the reviews of another', async (t) => {
  const { access, asked } = site();
  const flood = Array.from({ length: 21 }, () => access.isAllowed(alice, get, acme, signal));
  const refusals = flood.map((one) => one.catch((error: unknown) => error));
  t.match(await refusals.at(-1), { code: 'AdmissionRateExceeded' }, 'its queue is bounded');
  t.equal(asked.length, 4);
  void access.isAllowed({ ...alice, username: 'globex:gina' }, get, globex, signal);
  await Promise.resolve();
  t.equal(asked.length, 5);
});

t.test('a wait ends with the request', async (t) => {
  const { access } = site();
  const request = new AbortController();
  for (let at = 0; at < 4; at += 1) void access.isAllowed(alice, get, acme, signal);
  const waiting = access.isAllowed(alice, get, acme, request.signal);
  request.abort();
  await t.rejects(waiting, { code: 'UpstreamTimeout' });
});

t.test('without an API server to ask nothing is allowed, and the message says what is missing', async (t) => {
  await t.rejects(noAdmissionAccess.isAllowed(alice, get, acme, signal), {
    constructor: StatusError,
    message: /no section `upstream`/,
  });
});
