import t from 'tap';
import { overlay, planLogin } from '../../../../src/cli/login/keystone-settings.ts';

const AT = { auth_url: 'https://keystone:5000/v3' };
const ALICE = { username: 'alice', user_domain_name: 'acme', password: 'sesame' };
const plan = (settings: Record<string, string>) => planLogin(overlay([{ ...AT, ...settings }]));
const USER = { name: 'alice', domain: { name: 'acme' } };
const SECRET = { application_credential_secret: 's' };
const TOKEN = { ...ALICE, token: 'gAAAAA' };
const APPLICATION = { ...ALICE, application_credential_id: 'c1', ...SECRET };

const PROOFS = [
  [ALICE, { method: 'password', user: USER, secret: 'sesame' }],
  [{ user_id: 'a1', password: 'x' }, { user: { id: 'a1' } }],
  [{ username: 'alice' }, { user: { domain: { id: 'default' } } }],
  [{ username: 'alice', default_domain: 'd1' }, { user: { domain: { id: 'd1' } } }],
  // Beside a project, domain_name is the domain of the user and of the project, and not a scope.
  [{ username: 'alice', project_name: 'web', domain_name: 'acme' }, { user: USER }],
  // auth_type determines the method; without it, the settings that are present do.
  [APPLICATION, { method: 'application_credential', credential: { id: 'c1' }, secret: 's' }],
  [{ ...ALICE, application_credential_name: 'ci', ...SECRET }, { credential: { name: 'ci', user: USER } }],
  [TOKEN, { method: 'token', secret: 'gAAAAA' }],
  [{ ...TOKEN, auth_plugin: 'password' }, { method: 'password' }],
] as const;
for (const [settings, proof] of PROOFS)
  t.test(`the login method of ${JSON.stringify(settings)}`, async (t) =>
    t.match(plan(settings).proof, proof),
  );

const WEB = { name: 'web', domain: { name: 'acme' } };
const SCOPES = [
  [{ project_id: 'p1', project_name: 'web' }, { project: { id: 'p1' } }],
  [{ project_name: 'web', domain_name: 'acme' }, { project: WEB }],
  [{ tenant_name: 'web', project_domain_name: 'acme' }, { project: WEB }],
  [{ domain_name: 'acme' }, { domain: { name: 'acme' } }],
  [{ system_scope: 'all' }, { system: { all: true } }],
  [{ trust_id: 't1' }, { 'OS-TRUST:trust': { id: 't1' } }],
  [{ unscoped: 'true' }, 'unscoped'],
  // Keystone takes the user's default project.
  [{}, undefined],
  // An application credential contains its scope.
  [{ application_credential_id: 'c1', project_name: 'web' }, undefined],
] as const;
for (const [settings, scope] of SCOPES)
  t.test(`the scope of ${JSON.stringify(settings)}`, async (t) =>
    t.same(plan({ ...ALICE, ...settings }).scope, scope),
  );

t.test('flags take precedence over variables, and variables over the cloud', async (t) => {
  const merged = overlay([
    { username: 'cloud', project_id: 'p1', auth_url: 'a' },
    { username: 'variable', project_name: 'web' },
    { username: 'flag' },
  ]);
  t.same(merged, { username: 'flag', project_name: 'web', auth_url: 'a' });
});

t.test('a scope in a higher layer replaces the whole scope of the layers below', async (t) => {
  const cloud = { project_name: 'web', project_domain_name: 'acme' };
  t.match(overlay([cloud, { domain_name: 'acme' }]), { project_name: undefined });
  t.match(overlay([{ ...cloud, unscoped: 'true' }, { project_id: 'p2' }]), { unscoped: undefined });
});

t.test('a CA in a higher layer overrides insecure in a lower one', async (t) => {
  const settings = overlay([{ ...AT, ...ALICE, verify: 'false' }, { cacert: 'ca.pem' }]);
  t.equal(planLogin(settings).caFile, 'ca.pem');
  t.equal(plan({ ...ALICE, insecure: 'false', verify: 'true' }).caFile, undefined);
});

t.test('the address must be https, or http on loopback; query and fragment are dropped', async (t) => {
  const local = 'http://127.0.0.1:5000/identity';
  t.equal(plan({ ...ALICE, auth_url: local }).url, local);
  t.equal(plan({ ...ALICE, auth_url: 'https://keystone/v3/?x#y' }).url, 'https://keystone/v3/');
});

const INSTEAD = /auth_type "(\w+)".*application credential create.*OS_TOKEN.*login --oidc/;
const REFUSED = [
  [{ auth_url: '' }, /which Keystone\? .*--os-cloud/],
  [{ auth_url: '', profile: 'vexxhost' }, /profile "vexxhost" .*built into openstacksdk are not read/],
  [{ auth_url: 'http://keystone/v3' }, /is not https/],
  [{ auth_url: 'https://alice:sesame@keystone/v3' }, /^auth_url must be an http or https address/],
  [{ auth_type: 'v3token' }, /the token is missing: .*OS_TOKEN/],
  [{ system_scope: 'half' }, /system_scope can only be "all"/],
  [{ insecure: 'True' }, /not to be verified.*--os-cacert/],
  [{ verify: 'false' }, /not to be verified/],
  [{ auth_type: 'v3websso' }, INSTEAD],
] as const;
for (const [settings, message] of REFUSED)
  t.test(`${JSON.stringify(settings)} is refused, and the error says what to do`, async (t) => {
    const given = Object.entries({ ...AT, ...ALICE, ...settings }).filter(([, value]) => value !== '');
    t.throws(() => planLogin(Object.fromEntries(given)), { message });
  });
