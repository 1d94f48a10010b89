/**
 * The stand-in Keystone responds as a real one did in recorded exchanges: the same situation gets the same
 * status, the same relevant header fields and a body of the same shape.
 */
import t from 'tap';
import { recording } from '../../support/keystone/recordings.ts';
import { createKeystoneStandIn } from '../../support/keystone/standin.ts';

/**
 * Each line has the name of a recording, then the caller's token and the validated token, then changes
 * between their issue and the validation. A token is a user, with a scope behind a slash; `=` is the
 * caller's own. A change sets a field, or gives or takes a role.
 */
const VALIDATIONS = `
validate-self alice/web =
validate-self-unscoped alice =
validate-self-revoked alice/web = revoke:subject
validate-expired-self alice/expired =
validate-by-service-user-nocatalog bridge/service alice/web
validate-by-system-reader auditor/system alice/web
validate-own-other-token alice alice/web
validate-other-user-by-ordinary-user bob/web alice/web
validate-service-user-unscoped-token bridge alice/web
validate-malformed-subject-token-by-ordinary-user alice/web malformed
validate-subject-unscoped bridge/service alice
validate-subject-domain bridge/service alice/acme
validate-subject-system bridge/service auditor/system
validate-subject-application-credential bridge/service credential
validate-empty-access-rules-without-header bridge/service without-rules
validate-access-rules-without-header bridge/service rules
validate-access-rules-with-header bridge/service rules header
validate-subject-trust bridge/service trust
validate-subject-trust-impersonating bridge/service impersonating
validate-trust-token-self-plain trust =
validate-trust-token-self impersonating =
validate-trust-token-by-trustee bob impersonating
validate-trust-token-by-trustor alice impersonating
validate-subject-trust-deleted bridge/service trust trust.deleted=true
validate-expired bridge/service alice/expired
validate-malformed-subject-token bridge/service malformed
validate-no-subject-token bridge/service -
validate-no-auth-token - alice/web
validate-bad-auth-token malformed alice/web
validate-revoked bridge/service alice/web revoke:subject
validate-revoked-caller bridge/service alice/web revoke:caller
validate-caller-deleted bridge/service alice/web bridge.deleted=true
validate-caller-project-disabled bridge/service alice/web service.enabled=false
validate-caller-lost-only-role bridge/service alice/web take:bridge:service:service
validate-caller-lost-service-role bridge/service alice/web give:bridge:reader:service take:bridge:service:service
effect-one-of-two-roles-removed bridge/service alice/web take:alice:member:web
effect-only-role-removed bridge/service alice/web take:alice:member:web take:alice:reader:web
effect-role-added bridge/service alice/web give:alice:developer:web
effect-project-disabled bridge/service alice/web web.enabled=false
effect-project-disabled-undone bridge/service alice/web web.enabled=false web.enabled=true
effect-project-deleted bridge/service alice/web web.deleted=true
effect-domain-disabled bridge/service alice/web acme.enabled=false
effect-user-disabled bridge/service alice/web alice.enabled=false
effect-user-deleted bridge/service alice/web alice.deleted=true
effect-user-renamed bridge/service alice/web alice.name=alicia
effect-application-credential-deleted bridge/service credential credential.deleted=true`;

/** The name of a recording, the method with what it needs, the scope, and changes before the login. */
const LOGINS = `
auth-password-project-nocatalog password:alice:alice-pass web
auth-password-unscoped-no-roles password:erin:erin-pass -
auth-password-wrong password:alice:nope web
auth-password-unknown-user password:who:nope web
auth-password-unknown-project password:alice:alice-pass none
auth-password-project-without-role password:erin:erin-pass web
auth-password-system-without-role password:alice:alice-pass system
auth-password-disabled-project password:alice:alice-pass web web.enabled=false
auth-password-disabled-user password:alice:alice-pass web alice.enabled=false
auth-password-user-of-disabled-domain password:alice:alice-pass web acme.enabled=false
auth-application-credential-by-id credential -
auth-application-credential-wrong-secret credential::nope -
auth-application-credential-unknown credential:00000000000000000000000000000000:nope -
auth-application-credential-same-scope credential web
auth-application-credential-token-rescoped token:credential web
auth-token-unscoped-to-project token:alice web
auth-token-project-to-unscoped token:alice/web unscoped
auth-token-project-to-project-without-role token:alice/web api
auth-token-system-to-project token:auditor/system web
auth-token-expired token:alice/expired web
auth-token-malformed token:malformed web
auth-trust-token-rescoped token:impersonating web
auth-unknown-method magic -`;

/** The name of a recording, the caller's token, the path with names of users, and changes before the call. */
const LISTINGS = `
role-assignments-direct-system auditor/system /role_assignments?user.id={auditor}&include_names
role-assignments-effective-system auditor/system /role_assignments?user.id={auditor}&effective&include_names
role-assignments-effective-group-and-project auditor/system /role_assignments?user.id={bob}&effective&include_names
role-assignments-unknown-user auditor/system /role_assignments?user.id=00000000000000000000000000000000&effective
role-assignments-by-service-user bridge/service /role_assignments?user.id={alice}&effective&include_names
user-groups-by-system-reader auditor/system /users/{bob}/groups bob.groups=ops
revocation-events-after-revoke bridge/service /OS-REVOKE/events?since=2020-01-01T00:00:00Z revoke:subject
revocation-events-by-system-reader auditor/system /OS-REVOKE/events`;

const RULE = { id: '0'.repeat(32), path: '/v2.1/servers', method: 'GET', service: 'compute' };
const WEB = { project: { name: 'web', domain: { name: 'acme' } } };

async function createScene() {
  const keystone = await createKeystoneStandIn();
  const { directory } = keystone;
  const projects = {
    web: directory.project('acme', 'web'),
    api: directory.project('acme', 'api'),
    service: directory.project('Default', 'service'),
  };
  const { web, service } = projects;
  const acme = directory.domain('acme');
  const users = {
    alice: directory.user('acme', 'alice'),
    bob: directory.user('acme', 'bob'),
    erin: directory.user('acme', 'erin'),
    bridge: directory.user('Default', 'bridge'),
    auditor: directory.user('Default', 'auditor'),
  };
  const { alice, bob, bridge, auditor } = users;
  directory.assign(alice, 'member', { project: web });
  directory.assign(alice, 'reader', { project: web });
  directory.assign(bob, 'reader', { project: web });
  directory.assign(alice, 'admin', { domain: acme });
  directory.assign(bridge, 'service', { project: service });
  directory.assign(auditor, 'reader', { system: true });
  const objects: Record<string, object> = { ...projects, ...users, acme };
  const scopes = {
    web: { project: web },
    service: { project: service },
    acme: { domain: acme },
    system: { system: true },
    expired: { project: web },
  } as const;

  function credential(options?: { accessRules: unknown[] }) {
    const made = directory.applicationCredential(alice, web, options);
    objects.credential = made;
    return made;
  }
  const delegated = (options?: { accessRules: unknown[] }) =>
    keystone.issue(alice, scopes.web, { applicationCredential: credential(options) });
  function trusted(impersonation: boolean) {
    const trust = directory.trust(alice, bob, web, { roles: ['reader'], impersonation });
    objects.trust = trust;
    const methods = ['password', 'token'];
    return keystone.issue(impersonation ? alice : bob, scopes.web, { methods, trust });
  }
  const special: Readonly<Record<string, () => string>> = {
    malformed: () => 'not-a-token',
    credential: () => delegated(),
    'without-rules': () => delegated({ accessRules: [] }),
    rules: () => delegated({ accessRules: [RULE] }),
    trust: () => trusted(false),
    impersonating: () => trusted(true),
  };
  function token(text: string) {
    const make = special[text];
    if (make !== undefined) return make();
    const [name = '', scope] = text.split('/');
    const user = among(users, name);
    return scope === undefined
      ? keystone.issue(user)
      : keystone.issue(user, among(scopes, scope), scope === 'expired' ? { life: -1 } : {});
  }

  function change(text: string, tokens: Readonly<Record<string, string>>) {
    const [verb = '', name = '', role = '', project = ''] = text.split(':');
    if (verb === 'revoke') keystone.revoke(tokens[name] ?? '');
    else if (verb === 'give' || verb === 'take')
      directory[verb === 'give' ? 'assign' : 'unassign'](among(users, name), role, {
        project: among(projects, project),
      });
    else {
      const [, object = '', field = '', value = ''] = /^(\w+)\.(\w+)=(\w+)$/.exec(text) ?? [];
      const values: Readonly<Record<string, unknown>> = { true: true, false: false, ops: ['ops'] };
      Object.assign(among(objects, object), { [field]: values[value] ?? value });
    }
  }

  async function ask(path: string, headers: Record<string, string>, auth?: object) {
    const response = await fetch(`${keystone.url}${path}`, {
      headers,
      ...(auth !== undefined && { method: 'POST', body: JSON.stringify({ auth }) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      type: response.headers.get('content-type')?.split(';')[0],
      challenged: response.headers.has('www-authenticate'),
      token: response.headers.has('x-subject-token'),
      body: shape(text === '' ? null : JSON.parse(text)),
    };
  }

  /** How to log in with a method and what it needs. */
  function identity(text: string) {
    const [method = '', first = '', second = ''] = text.split(':');
    const user = { name: first, domain: { name: 'acme' }, password: second };
    if (method === 'password') return { methods: [method], password: { user } };
    if (method === 'token') return { methods: [method], token: { id: token(first) } };
    if (method !== 'credential') return { methods: [method], [method]: {} };
    const { id, secret } = credential();
    const given = { id: first || id, secret: second || secret };
    return { methods: ['application_credential'], application_credential: given };
  }
  const asked: Readonly<Record<string, unknown>> = {
    web: WEB,
    none: { project: { ...WEB.project, name: 'none' } },
    api: { project: { id: projects.api.id } },
    system: { system: { all: true } },
    unscoped: 'unscoped',
  };

  return {
    keystone,
    async validate([caller = '', subject = '', ...changes]: readonly string[]) {
      const own = caller === '-' ? '' : token(caller);
      const tokens = { caller: own, subject: subject === '=' ? own : subject === '-' ? '' : token(subject) };
      for (const each of changes) if (each !== 'header') change(each, tokens);
      return ask('/auth/tokens?nocatalog', {
        ...(tokens.caller !== '' && { 'X-Auth-Token': tokens.caller }),
        ...(tokens.subject !== '' && { 'X-Subject-Token': tokens.subject }),
        ...(changes.includes('header') && { 'OpenStack-Identity-Access-Rules': '1' }),
      });
    },
    async login([method = '', scope = '', ...changes]: readonly string[]) {
      for (const each of changes) change(each, {});
      const auth = { identity: identity(method), ...(scope !== '-' && { scope: among(asked, scope) }) };
      return ask('/auth/tokens?nocatalog', {}, auth);
    },
    async list([caller = '', path = '', ...changes]: readonly string[]) {
      const own = token(caller);
      for (const each of changes) change(each, { subject: token('alice/web') });
      return ask(
        path.replace(/\{(\w+)\}/, (_, name) => among(users, name).id),
        { 'X-Auth-Token': own },
      );
    },
  };
}

function among<T>(values: Readonly<Record<string, T>>, name: string) {
  const value = values[name];
  if (value === undefined) throw new Error(`there is no ${name}`);
  return value;
}

/**
 * A value's shape: the types of its fields, the shape of a list's first item, or an error's code and title
 * without its message.
 */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shape(value[0])];
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  if ('code' in value && 'title' in value) return { code: value.code, title: value.title };
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !LOOSE.has(key))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, each]) => [key, shape(each)]),
  );
}

/** Fields that vary between roles, or that no client of the stand-in reads. */
const LOOSE = new Set(['options', 'catalog']);

for (const [kind, table, method] of [
  ['a listing', LISTINGS, 'list'],
  ['a login', LOGINS, 'login'],
  ['a validation', VALIDATIONS, 'validate'],
] as const)
  t.test(`${kind} gets the response of a real Keystone`, async (t) => {
    for (const line of table.trim().split('\n')) {
      const [name = '', ...words] = line.split(' ');
      const scene = await createScene();
      const { status, headers, body } = recording(name).response;
      const seen = await scene[method](words).finally(() => scene.keystone.close());
      const expected = {
        status,
        type: headers['Content-Type']?.split(';')[0],
        challenged: 'WWW-Authenticate' in headers,
        token: 'X-Subject-Token' in headers,
        body: shape(body),
      };
      t.strictSame(seen, expected, name);
    }
  });
