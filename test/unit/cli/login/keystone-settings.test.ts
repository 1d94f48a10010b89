import t from 'tap';
import { parse } from 'yaml';
import { overlay, planLogin } from '../../../../src/cli/login/keystone-settings.ts';
import { rows } from '../../../support/rows.ts';

const AT = { auth_url: 'https://keystone:5000/v3' };
const ALICE = { username: 'alice', user_domain_name: 'acme', password: 'sesame' };
const plan = (settings: Record<string, string>) => planLogin(overlay([{ ...AT, ...settings }]));
/** The plan for alice with these settings. */
const ofAlice = (settings: string) => plan({ ...ALICE, ...parse(settings) });
const USER = '{name: alice, domain: {name: acme}}';
/** Settings beside those of alice, which determine the method unless auth_type does, and a part of it. */
const PROOFS = rows(`
{} | {method: password, user: ${USER}, secret: sesame}
{user_id: a1} | {user: {id: a1}}
{application_credential_id: c1, application_credential_secret: s} | {method: application_credential, credential: {id: c1}, secret: s}
{application_credential_name: ci, application_credential_secret: s} | {credential: {name: ci, user: ${USER}}}
{token: gAAAAA} | {method: token, secret: gAAAAA}
{token: gAAAAA, auth_plugin: password} | {method: password}`);
for (const [settings, proof] of PROOFS)
  t.test(`the login method of ${settings}`, async (t) => t.match(ofAlice(settings).proof, parse(proof)));

/** Beside a project, domain_name is the domain of the user and of the project, and not a scope. */
const WITHOUT_USER_DOMAIN = rows(`
{username: alice} | {user: {domain: {id: default}}}
{username: alice, default_domain: d1} | {user: {domain: {id: d1}}}
{username: alice, project_name: web, domain_name: acme} | {user: ${USER}}`);
for (const [settings, proof] of WITHOUT_USER_DOMAIN)
  t.test(`the login method of ${settings}`, async (t) => t.match(plan(parse(settings)).proof, parse(proof)));

const SCOPES = rows(`
{project_id: p1, project_name: web} | {project: {id: p1}}
{project_name: web, domain_name: acme} | {project: {name: web, domain: {name: acme}}}
{tenant_name: web, project_domain_name: acme} | {project: {name: web, domain: {name: acme}}}
{domain_name: acme} | {domain: {name: acme}}
{system_scope: all} | {system: {all: true}}
{trust_id: t1} | {OS-TRUST:trust: {id: t1}}
{unscoped: 'true'} | unscoped`);
for (const [settings, scope] of SCOPES)
  t.test(`the scope of ${settings}`, async (t) => t.same(ofAlice(settings).scope, parse(scope)));

t.test('without a scope in the settings none is requested: Keystone takes the default project', async (t) =>
  t.equal(ofAlice('{}').scope, undefined),
);

t.test('with an application credential no scope is requested: the credential contains its own', async (t) =>
  t.equal(ofAlice('{application_credential_id: c1, project_name: web}').scope, undefined),
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

/** Settings beside those of alice, where null takes one away, and what the error says. */
const REFUSED = rows(String.raw`
{auth_url: null} | which Keystone\? .*--os-cloud
{auth_url: null, profile: vexxhost} | profile "vexxhost" .*built into openstacksdk are not read
{auth_url: http://keystone/v3} | is not https
{auth_url: https://alice:sesame@keystone/v3} | ^auth_url must be an http or https address
{auth_type: v3token} | the token is missing: .*OS_TOKEN
{system_scope: half} | system_scope can only be "all"
{insecure: 'True'} | not to be verified.*--os-cacert
{verify: 'false'} | not to be verified
{auth_type: v3websso} | auth_type "(\w+)".*application credential create.*OS_TOKEN.*login --oidc`);
for (const [settings, message] of REFUSED)
  t.test(`${settings} is refused, and the error says what to do`, async (t) => {
    const given: Readonly<Record<string, string | null>> = { ...AT, ...ALICE, ...parse(settings) };
    const present = Object.entries(given).flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
    t.throws(() => planLogin(Object.fromEntries(present)), { message: new RegExp(message) });
  });
