import t from 'tap';
import { overlay, planLogin } from '../../../../src/cli/login/keystone-settings.ts';

const AT = { auth_url: 'https://keystone:5000/v3' };
const ALICE = { username: 'alice', user_domain_name: 'acme', password: 'sesame' };
const plan = (settings: Record<string, string>) => planLogin(overlay([{ ...AT, ...settings }]));
const scopeOf = (settings: Record<string, string>) => plan({ ...ALICE, ...settings }).scope;
const proofOf = (settings: Record<string, string>) => plan(settings).proof;

t.test('a user by name and domain, or by id', async (t) => {
  t.same(proofOf(ALICE), {
    method: 'password',
    user: { name: 'alice', domain: { name: 'acme' } },
    secret: 'sesame',
  });
  t.match(proofOf({ user_id: 'a1', password: 'x' }), { user: { id: 'a1' } });
  t.match(proofOf({ username: 'alice', user_domain_id: 'd1' }), { user: { domain: { id: 'd1' } } });
});

t.test('without a domain it is Keystone’s default one, or the one that is said to be', async (t) => {
  t.match(proofOf({ username: 'alice' }), { user: { domain: { id: 'default' } } });
  t.match(proofOf({ username: 'alice', default_domain: 'd1' }), { user: { domain: { id: 'd1' } } });
  t.match(proofOf({ username: 'alice', default_domain_name: 'acme' }), {
    user: { domain: { name: 'acme' } },
  });
});

t.test('every scope that Keystone has', async (t) => {
  t.same(scopeOf({ project_id: 'p1', project_name: 'web' }), { project: { id: 'p1' } });
  t.same(scopeOf({ project_name: 'web', project_domain_name: 'acme' }), {
    project: { name: 'web', domain: { name: 'acme' } },
  });
  t.same(scopeOf({ domain_name: 'acme' }), { domain: { name: 'acme' } });
  t.same(scopeOf({ domain_id: 'd1' }), { domain: { id: 'd1' } });
  t.same(scopeOf({ system_scope: 'all' }), { system: { all: true } });
  t.same(scopeOf({ trust_id: 't1' }), { 'OS-TRUST:trust': { id: 't1' } });
  t.same(scopeOf({ unscoped: 'true' }), 'unscoped');
  t.equal(scopeOf({}), undefined, 'the user’s default project');
});

t.test('beside a project domain_name is the domain of both, and no scope', async (t) => {
  const { proof, scope } = plan({ username: 'alice', project_name: 'web', domain_name: 'acme' });
  t.match(proof, { user: { domain: { name: 'acme' } } });
  t.same(scope, { project: { name: 'web', domain: { name: 'acme' } } });
});

t.test('the old names of projects still work', async (t) => {
  t.same(scopeOf({ tenant_id: 'p1' }), { project: { id: 'p1' } });
  t.match(scopeOf({ tenant_name: 'web' }), { project: { name: 'web' } });
});

t.test('the method is as auth_type says, or else by what is there', async (t) => {
  const credential = { application_credential_id: 'c1', application_credential_secret: 's' };
  t.equal(proofOf({ ...ALICE, ...credential }).method, 'application_credential');
  t.equal(proofOf({ ...ALICE, token: 'gAAAAA' }).method, 'token');
  t.equal(proofOf({ ...ALICE, token: 'gAAAAA', auth_type: 'v3password' }).method, 'password');
  t.equal(proofOf({ ...ALICE, ...credential, auth_type: 'password' }).method, 'password');
  t.equal(proofOf({ ...ALICE, token: 'gAAAAA', auth_plugin: 'password' }).method, 'password');
});

t.test('an application credential by id, or by name and its user; its scope is in it', async (t) => {
  const secret = { application_credential_secret: 's' };
  t.same(proofOf({ application_credential_id: 'c1', ...secret }), {
    method: 'application_credential',
    credential: { id: 'c1' },
    secret: 's',
  });
  t.match(proofOf({ application_credential_name: 'ci', ...ALICE, ...secret }), {
    credential: { name: 'ci', user: { name: 'alice', domain: { name: 'acme' } } },
  });
  t.equal(plan({ application_credential_id: 'c1', project_name: 'web' }).scope, undefined);
});

t.test('flags go over variables, and variables over the cloud', async (t) => {
  const merged = overlay([
    { username: 'cloud', project_id: 'p1', auth_url: 'a' },
    { username: 'variable', project_name: 'web' },
    { username: 'flag' },
  ]);
  t.same(merged, { username: 'flag', project_name: 'web', auth_url: 'a' });
});

t.test('a scope of a higher layer replaces the whole scope beneath', async (t) => {
  const cloud = { project_name: 'web', project_domain_name: 'acme' };
  t.match(overlay([cloud, { system_scope: 'all' }]), { project_name: undefined });
  t.match(overlay([cloud, { domain_name: 'acme' }]), { project_name: undefined });
  t.match(overlay([{ ...cloud, unscoped: 'true' }, { project_id: 'p2' }]), { unscoped: undefined });
});

t.test('an empty value is none', async (t) => {
  t.same(overlay([{ username: 'alice' }, { username: '' }]), { username: 'alice' });
});

t.test('the address is https, or http on this machine; what is no path of it is dropped', async (t) => {
  t.equal(
    plan({ ...ALICE, auth_url: 'http://127.0.0.1:5000/identity' }).url,
    'http://127.0.0.1:5000/identity',
  );
  t.equal(plan({ ...ALICE, auth_url: 'https://keystone/v3/?x#y' }).url, 'https://keystone/v3/');
  t.throws(() => plan({ ...ALICE, auth_url: 'http://keystone/v3' }), { message: /is not https/ });
  for (const bad of ['keystone', 'ftp://keystone', 'https://alice:sesame@keystone/v3']) {
    t.throws(() => plan({ ...ALICE, auth_url: bad }), {
      message: /^auth_url must be an http or https address/,
    });
  }
  t.throws(() => plan({ ...ALICE, auth_url: 'https://keystone/v2.0' }), { message: /2\.0, which is gone/ });
});

t.test('what is missing is named', async (t) => {
  t.throws(() => planLogin(ALICE), { message: /which Keystone\? .*--os-cloud/ });
  t.throws(() => plan({ password: 'x' }), { message: /the user is missing: .*OS_USERNAME/ });
  t.throws(() => plan({ auth_type: 'v3token' }), { message: /the token is missing: .*OS_TOKEN/ });
  t.throws(() => plan({ auth_type: 'v3applicationcredential' }), {
    message: /the application credential is missing: .*OS_APPLICATION_CREDENTIAL_ID/,
  });
  t.throws(() => plan({ ...ALICE, system_scope: 'half' }), { message: /system_scope can only be "all"/ });
});

t.test('a certificate that is not to be verified is refused, with what to do', async (t) => {
  for (const off of [{ insecure: 'True' }, { insecure: '1' }, { verify: 'false' }]) {
    t.throws(() => plan({ ...ALICE, ...off }), { message: /not to be verified.*--os-cacert/ });
  }
  t.equal(plan({ ...ALICE, insecure: 'false', verify: 'true' }).caFile, undefined);
});

t.test('an authority in a higher layer is the answer to insecure beneath', async (t) => {
  const settings = overlay([{ ...AT, ...ALICE, verify: 'false' }, { cacert: 'ca.pem' }]);
  t.equal(planLogin(settings).caFile, 'ca.pem');
});

for (const type of ['v3oidcpassword', 'v3oidcauthcode', 'v3websso', 'v3samlpassword', 'v3fedkerb']) {
  t.test(`a federated cloud (${type}): what to do instead`, async (t) => {
    t.throws(() => plan({ ...ALICE, auth_type: type }), {
      message: new RegExp(`federation \\(${type}\\).*application credential create.*OS_TOKEN.*login --oidc`),
    });
  });
}

for (const type of ['v3multifactor', 'v3totp']) {
  t.test(`a cloud with a second factor (${type}): what to do instead`, async (t) => {
    t.throws(() => plan({ ...ALICE, auth_type: type }), { message: /second factor.*application credential/ });
  });
}

t.test('an old identity API, and an unknown type', async (t) => {
  t.throws(() => plan({ ...ALICE, auth_type: 'v2password' }), { message: /2\.0, which is gone/ });
  t.throws(() => plan({ ...ALICE, auth_type: 'magic' }), { message: /does not know the auth_type "magic"/ });
});
