/**
 * The stand-in Keystone responds as a real one did in recorded exchanges: the same situation gets the same
 * status, the same relevant header fields and a body of the same shape.
 */
import t from 'tap';
import type { Target } from '../../support/keystone/directory.ts';
import { recording } from '../../support/keystone/recordings.ts';
import { createKeystoneStandIn } from '../../support/keystone/standin.ts';

interface Asked {
  /** Below `/v3`; the path of tokens if omitted. */
  readonly path?: string;
  readonly method?: string;
  readonly query?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

async function createScene() {
  const keystone = await createKeystoneStandIn();
  const { directory } = keystone;
  const web = directory.project('acme', 'web');
  const api = directory.project('acme', 'api');
  const service = directory.project('Default', 'service');
  const acme = directory.domain('acme');
  const [alice, bob, erin] = ['alice', 'bob', 'erin'].map((name) => directory.user('acme', name));
  const bridge = directory.user('Default', 'bridge');
  const auditor = directory.user('Default', 'auditor');
  if (!alice || !bob || !erin) throw new Error('no users');
  directory.assign(alice, 'member', { project: web });
  directory.assign(alice, 'reader', { project: web });
  directory.assign(bob, 'reader', { project: web });
  directory.assign(alice, 'admin', { domain: acme });
  directory.assign(bridge, 'service', { project: service });
  directory.assign(auditor, 'reader', { system: true });
  const own = keystone.issue(bridge, { project: service });
  const aliceWeb = keystone.issue(alice, { project: web });

  async function ask({
    path = '/auth/tokens',
    method = 'GET',
    query = '?nocatalog',
    headers = {},
    body,
  }: Asked) {
    const response = await fetch(`${keystone.url}${path}${query}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      type: response.headers.get('content-type')?.split(';')[0],
      challenged: response.headers.has('www-authenticate'),
      token: response.headers.has('x-subject-token'),
      body: text === '' ? null : JSON.parse(text),
    };
  }

  const list = (caller: string, path: string, query: string) =>
    ask({ path, query, headers: { 'X-Auth-Token': caller } });
  const asAuditor = () => keystone.issue(auditor, { system: true });
  const validate = (caller: string, subject: string, headers: Record<string, string> = {}) =>
    ask({ headers: { ...headers, 'X-Auth-Token': caller, 'X-Subject-Token': subject } });
  const post = (identity: unknown, scope?: unknown) =>
    ask({ method: 'POST', body: { auth: { identity, ...(scope !== undefined && { scope }) } } });
  const password = (name: string, secret: string, scope?: unknown) =>
    post(
      { methods: ['password'], password: { user: { name, domain: { name: 'acme' }, password: secret } } },
      scope,
    );
  const exchange = (id: string, scope?: unknown) => post({ methods: ['token'], token: { id } }, scope);
  const by = (id: string, secret: string, scope?: unknown) =>
    post({ methods: ['application_credential'], application_credential: { id, secret } }, scope);
  return {
    keystone,
    directory,
    web,
    api,
    acme,
    alice,
    bob,
    erin,
    bridge,
    auditor,
    own,
    aliceWeb,
    service,
    ask,
    list,
    asAuditor,
    validate,
    password,
    exchange,
    by,
  };
}

type Scene = Awaited<ReturnType<typeof createScene>>;
type Seen = Awaited<ReturnType<Scene['ask']>>;

const WEB = { project: { name: 'web', domain: { name: 'acme' } } };
const target = (scene: Scene): Target => ({ project: scene.web });

const LOGINS: Record<string, (scene: Scene) => Promise<Seen>> = {
  'auth-password-project-nocatalog': (s) => s.password('alice', 'alice-pass', WEB),
  'auth-password-unscoped-no-roles': (s) => s.password('erin', 'erin-pass', undefined),
  'auth-password-wrong': (s) => s.password('alice', 'nope', WEB),
  'auth-password-unknown-user': (s) => s.password('who', 'nope', WEB),
  'auth-password-unknown-project': (s) =>
    s.password('alice', 'alice-pass', { project: { name: 'none', domain: { name: 'acme' } } }),
  'auth-password-project-without-role': (s) => s.password('erin', 'erin-pass', WEB),
  'auth-password-system-without-role': (s) => s.password('alice', 'alice-pass', { system: { all: true } }),
  'auth-password-disabled-project': (s) => {
    s.web.enabled = false;
    return s.password('alice', 'alice-pass', WEB);
  },
  'auth-password-disabled-user': (s) => {
    s.alice.enabled = false;
    return s.password('alice', 'alice-pass', WEB);
  },
  'auth-password-user-of-disabled-domain': (s) => {
    s.acme.enabled = false;
    return s.password('alice', 'alice-pass', WEB);
  },
  'auth-application-credential-by-id': (s) => {
    const credential = s.directory.applicationCredential(s.alice, s.web);
    return s.by(credential.id, credential.secret);
  },
  'auth-application-credential-wrong-secret': (s) =>
    s.by(s.directory.applicationCredential(s.alice, s.web).id, 'nope'),
  'auth-application-credential-unknown': (s) => s.by('0'.repeat(32), 'nope'),
  'auth-application-credential-same-scope': (s) => {
    const credential = s.directory.applicationCredential(s.alice, s.web);
    return s.by(credential.id, credential.secret, WEB);
  },
  'auth-application-credential-token-rescoped': (s) => {
    const applicationCredential = s.directory.applicationCredential(s.alice, s.web);
    return s.exchange(s.keystone.issue(s.alice, target(s), { applicationCredential }), WEB);
  },
  'auth-token-unscoped-to-project': (s) => s.exchange(s.keystone.issue(s.alice), WEB),
  'auth-token-project-to-unscoped': (s) => s.exchange(s.aliceWeb, 'unscoped'),
  'auth-token-project-to-project-without-role': (s) => s.exchange(s.aliceWeb, { project: { id: s.api.id } }),
  'auth-token-system-to-project': (s) => s.exchange(s.keystone.issue(s.auditor, { system: true }), WEB),
  'auth-token-expired': (s) => s.exchange(s.keystone.issue(s.alice, target(s), { life: -1 }), WEB),
  'auth-token-malformed': (s) => s.exchange('not-a-token', WEB),
  'auth-trust-token-rescoped': (s) => s.exchange(trustToken(s, true), WEB),
  'auth-unknown-method': (s) =>
    s.ask({ method: 'POST', body: { auth: { identity: { methods: ['magic'], magic: {} } } } }),
};

const VALIDATIONS: Record<string, (scene: Scene) => Promise<Seen>> = {
  'validate-self': (s) => s.validate(s.aliceWeb, s.aliceWeb),
  'validate-self-unscoped': (s) => same(s, s.keystone.issue(s.alice)),
  'validate-self-revoked': (s) => {
    s.keystone.revoke(s.aliceWeb);
    return same(s, s.aliceWeb);
  },
  'validate-expired-self': (s) => same(s, s.keystone.issue(s.alice, target(s), { life: -1 })),
  'validate-by-service-user-nocatalog': (s) => s.validate(s.own, s.aliceWeb),
  'validate-by-system-reader': (s) => s.validate(s.keystone.issue(s.auditor, { system: true }), s.aliceWeb),
  'validate-own-other-token': (s) => s.validate(s.keystone.issue(s.alice), s.aliceWeb),
  'validate-other-user-by-ordinary-user': (s) => s.validate(s.keystone.issue(s.bob, target(s)), s.aliceWeb),
  'validate-service-user-unscoped-token': (s) => s.validate(s.keystone.issue(s.bridge), s.aliceWeb),
  'validate-malformed-subject-token-by-ordinary-user': (s) => s.validate(s.aliceWeb, 'not-a-token'),
  'validate-subject-unscoped': (s) => s.validate(s.own, s.keystone.issue(s.alice)),
  'validate-subject-domain': (s) => s.validate(s.own, s.keystone.issue(s.alice, { domain: s.acme })),
  'validate-subject-system': (s) => s.validate(s.own, s.keystone.issue(s.auditor, { system: true })),
  'validate-subject-application-credential': (s) => {
    const applicationCredential = s.directory.applicationCredential(s.alice, s.web);
    return s.validate(s.own, s.keystone.issue(s.alice, target(s), { applicationCredential }));
  },
  'validate-empty-access-rules-without-header': (s) => limited(s, []),
  'validate-access-rules-without-header': (s) => limited(s, [RULE]),
  'validate-access-rules-with-header': (s) => limited(s, [RULE], { 'OpenStack-Identity-Access-Rules': '1' }),
  'validate-subject-trust': (s) => s.validate(s.own, trustToken(s, false)),
  'validate-subject-trust-impersonating': (s) => s.validate(s.own, trustToken(s, true)),
  'validate-trust-token-self-plain': (s) => same(s, trustToken(s, false)),
  'validate-trust-token-self': (s) => same(s, trustToken(s, true)),
  'validate-trust-token-by-trustee': (s) => s.validate(s.keystone.issue(s.bob), trustToken(s, true)),
  'validate-trust-token-by-trustor': (s) => s.validate(s.keystone.issue(s.alice), trustToken(s, true)),
  'validate-subject-trust-deleted': (s) => {
    const token = trustToken(s, false);
    for (const trust of s.directory.trusts) trust.deleted = true;
    return s.validate(s.own, token);
  },
  'validate-expired': (s) => s.validate(s.own, s.keystone.issue(s.alice, target(s), { life: -1 })),
  'validate-malformed-subject-token': (s) => s.validate(s.own, 'not-a-token'),
  'validate-no-subject-token': (s) => s.ask({ headers: { 'X-Auth-Token': s.own } }),
  'validate-no-auth-token': (s) => s.ask({ headers: { 'X-Subject-Token': s.aliceWeb } }),
  'validate-bad-auth-token': (s) => s.validate('not-a-token', s.aliceWeb),
  'validate-revoked': (s) => afterwards(s, () => s.keystone.revoke(s.aliceWeb)),
  'validate-revoked-caller': (s) => afterwards(s, () => s.keystone.revoke(s.own)),
  'validate-caller-deleted': (s) =>
    afterwards(s, () => {
      s.bridge.deleted = true;
    }),
  'validate-caller-project-disabled': (s) =>
    afterwards(s, () => {
      s.service.enabled = false;
    }),
  'validate-caller-lost-only-role': (s) =>
    afterwards(s, () => s.directory.unassign(s.bridge, 'service', { project: s.service })),
  'validate-caller-lost-service-role': (s) =>
    afterwards(s, () => {
      s.directory.assign(s.bridge, 'reader', { project: s.service });
      s.directory.unassign(s.bridge, 'service', { project: s.service });
    }),
};

const EFFECTS: Record<string, (scene: Scene) => Promise<Seen>> = {
  'effect-one-of-two-roles-removed': (s) =>
    afterwards(s, () => s.directory.unassign(s.alice, 'member', target(s))),
  'effect-only-role-removed': (s) =>
    afterwards(s, () => {
      s.directory.unassign(s.alice, 'member', target(s));
      s.directory.unassign(s.alice, 'reader', target(s));
    }),
  'effect-role-added': (s) => afterwards(s, () => s.directory.assign(s.alice, 'developer', target(s))),
  'effect-project-disabled': (s) =>
    afterwards(s, () => {
      s.web.enabled = false;
    }),
  'effect-project-disabled-undone': (s) =>
    afterwards(s, () => {
      s.web.enabled = false;
      s.web.enabled = true;
    }),
  'effect-project-deleted': (s) =>
    afterwards(s, () => {
      s.web.deleted = true;
    }),
  'effect-domain-disabled': (s) =>
    afterwards(s, () => {
      s.acme.enabled = false;
    }),
  'effect-user-disabled': (s) =>
    afterwards(s, () => {
      s.alice.enabled = false;
    }),
  'effect-user-deleted': (s) =>
    afterwards(s, () => {
      s.alice.deleted = true;
    }),
  'effect-user-renamed': (s) =>
    afterwards(s, () => {
      s.alice.name = 'alicia';
    }),
  'effect-application-credential-deleted': (s) => {
    const applicationCredential = s.directory.applicationCredential(s.alice, s.web);
    const token = s.keystone.issue(s.alice, target(s), { applicationCredential });
    applicationCredential.deleted = true;
    return s.validate(s.own, token);
  },
};

const RULE = { id: '0'.repeat(32), path: '/v2.1/servers', method: 'GET', service: 'compute' };

function limited(s: Scene, accessRules: unknown[], headers: Record<string, string> = {}) {
  const applicationCredential = s.directory.applicationCredential(s.alice, s.web, { accessRules });
  return s.validate(s.own, s.keystone.issue(s.alice, target(s), { applicationCredential }), headers);
}

function same(s: Scene, token: string) {
  return s.validate(token, token);
}

function afterwards(s: Scene, change: () => void) {
  change();
  return s.validate(s.own, s.aliceWeb);
}

function trustToken(s: Scene, impersonation: boolean) {
  const trust = s.directory.trust(s.alice, s.bob, s.web, { roles: ['reader'], impersonation });
  return s.keystone.issue(impersonation ? s.alice : s.bob, target(s), {
    methods: ['password', 'token'],
    trust,
  });
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

const LISTINGS: Record<string, (scene: Scene) => Promise<Seen>> = {
  'role-assignments-direct-system': (s) =>
    s.list(s.asAuditor(), '/role_assignments', `?user.id=${s.auditor.id}&include_names`),
  'role-assignments-effective-system': (s) =>
    s.list(s.asAuditor(), '/role_assignments', `?user.id=${s.auditor.id}&effective&include_names`),
  'role-assignments-effective-group-and-project': (s) =>
    s.list(s.asAuditor(), '/role_assignments', `?user.id=${s.bob.id}&effective&include_names`),
  'role-assignments-unknown-user': (s) =>
    s.list(s.asAuditor(), '/role_assignments', '?user.id=00000000000000000000000000000000&effective'),
  'role-assignments-by-service-user': (s) =>
    s.list(s.own, '/role_assignments', `?user.id=${s.alice.id}&effective&include_names`),
  'user-groups-by-system-reader': (s) => {
    s.bob.groups.push('ops');
    return s.list(s.asAuditor(), `/users/${s.bob.id}/groups`, '');
  },
  'revocation-events-after-revoke': (s) => {
    s.keystone.revoke(s.aliceWeb);
    return s.list(s.own, '/OS-REVOKE/events', '?since=2020-01-01T00:00:00Z');
  },
  'revocation-events-by-system-reader': (s) => s.list(s.asAuditor(), '/OS-REVOKE/events', ''),
};

for (const [kind, scenes] of Object.entries({
  'a listing': LISTINGS,
  'a login': LOGINS,
  'a validation': VALIDATIONS,
  'a validation after a change': EFFECTS,
})) {
  t.test(`${kind} gets the response of a real Keystone`, async (t) => {
    for (const [name, play] of Object.entries(scenes)) {
      const scene = await createScene();
      const { status, headers, body } = recording(name).response;
      const seen = await play(scene).finally(() => scene.keystone.close());
      const expected = {
        status,
        type: headers['Content-Type']?.split(';')[0],
        challenged: 'WWW-Authenticate' in headers,
        token: 'X-Subject-Token' in headers,
        body: shape(body),
      };
      t.strictSame({ ...seen, body: shape(seen.body) }, expected, name);
    }
  });
}
