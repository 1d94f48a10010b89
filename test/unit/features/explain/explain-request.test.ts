import t from 'tap';
import { parse } from 'yaml';
import { StatusError, unauthorized } from '../../../../src/errors/status-error.ts';
import { createExplain, type ExplainOptions } from '../../../../src/features/explain/explain-request.ts';
import type { ExplainedRequest, StageName } from '../../../../src/features/explain/stonegate-v1alpha1.ts';
import type { ReviewedStatus } from '../../../../src/kubernetes/access-reviewer.ts';
import type { ServingStages } from '../../../../src/proxy/delivery.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import type { Identity } from '../../../../src/tenancy/identity.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import { alice, fakePipeline } from '../../../support/fake-pipeline.ts';
import { upstreamIdentity } from '../../../support/identities.ts';
import { recordedReviewer } from '../../../support/reviewed.ts';
import { eachRow } from '../../../support/rows.ts';
import { tokenScope } from '../../../support/token-scope.ts';

const TOKEN = 'gAAAAABsecret-secret-secret-secret';
const PODS: ExplainedRequest = { method: 'GET', path: '/api/v1/namespaces/web/pods' };
const ARKTOS = { mode: createArktosMode({ systemTenant: 'system', domains: {} }) };
const get = (path: string, more: object = {}) => ({ request: { method: 'GET', path, ...more } });

/** Takes every credential for one of this identity, or refuses it. */
const authenticators = (found: Identity | Error, name = 'fake') => [
  {
    name,
    async authenticate() {
      if (found instanceof Error) throw found;
      return found;
    },
  },
];

interface Options {
  readonly request?: ExplainedRequest;
  readonly token?: string | undefined;
  readonly pipeline?: Partial<ServingStages>;
  readonly rbac?: ReviewedStatus | Error;
  readonly filteredReason?: ExplainOptions['filteredReason'];
  readonly warningsOn?: ExplainOptions['warningsOn'];
}

async function explain(options: Options = {}) {
  const { request = PODS, rbac = { allowed: true, reason: 'by a binding' } } = options;
  const token = 'token' in options ? options.token : TOKEN;
  const pipeline = fakePipeline(options.pipeline);
  const { reviewer, asked } = recordedReviewer(rbac);
  const ask = createExplain({
    stages: () => pipeline,
    filteredReason: options.filteredReason,
    ...(options.warningsOn && { warningsOn: options.warningsOn }),
    reviewer,
  });
  const explanation = await ask(
    { request, ...(token !== undefined && { token }) },
    { peerAddress: '192.0.2.7', signal: new AbortController().signal },
  );
  const { status } = explanation;
  const stage = (name: StageName) => status.stages.find((one) => one.name === name);
  const last = status.stages.at(-1);
  return { explanation, status, sent: pipeline.sent, events: pipeline.events, asked, stage, last };
}

t.test('a request that would be forwarded passes every stage, and nothing is sent', async (t) => {
  const { status, sent, events, asked } = await explain();
  t.equal(status.outcome, 'forwarded');
  t.same(new Set(status.stages.map(({ decision }) => decision)), new Set(['passed']));
  t.match(
    status,
    parse(`
    credential: 'bearer token: a Keystone token (Fernet)'
    requestInfo: {verb: list, resource: pods, namespace: web}
    identity: {authenticator: keystone, uid: u1}
    tenant: acme
    user: {username: 'acme:alice'}
    upstreamPath: /api/v1/namespaces/web/pods`),
  );
  t.same([sent, events], [[], []], 'neither forwarded nor audited as a request');
  t.match(asked, [{ user: 'acme:alice', resourceAttributes: { verb: 'list', resource: 'pods' } }]);
});

t.test(
  'the headers of the identity and of Stonegate are shown with values, others by name only',
  async (t) => {
    const names = ['X-Custom', 'Audit-ID', 'X-Forwarded-For'];
    const hush = names.map((name) => [name, 'hush'] as const);
    const { status } = await explain({ request: { ...PODS, headers: hush } });
    const headers = status.headers ?? [];
    t.ok(headers.some(({ name, value }) => name === 'Impersonate-User' && value === 'acme:alice'));
    t.ok(headers.some(({ name, value }) => name === 'X-Forwarded-For' && value === '192.0.2.7'));
    t.ok(headers.some(({ name, value }) => name === 'Audit-ID' && value !== undefined));
    t.same(
      headers.filter(({ name }) => name === 'X-Custom'),
      [{ name: 'X-Custom' }],
    );
    t.notMatch(JSON.stringify(headers), /hush/);
    t.notOk(headers.some(({ name }) => name.toLowerCase() === 'authorization'));
  },
);

t.test('name and groups of a user of a file are shown as the API server is to know them', async (t) => {
  const found: Identity = {
    authenticator: 'token-file',
    subject: { kind: 'local', usernamePrefix: 'file:', groupsPrefix: 'file:', name: 'bob', groups: ['ops'] },
    tenantOrigin: { from: 'issuer', tenant: 'acme' },
    ...{ uid: '', extra: {}, expiresAt: Number.MAX_SAFE_INTEGER, auditAnnotations: {} },
  };
  const mode = createSharedMode({ domains: {}, reservedNamePrefixes: ['file:'] });
  const { status, stage } = await explain({ pipeline: { mode, authenticators: authenticators(found) } });
  t.match(stage('authenticate'), { reason: /"file:acme:bob"/ });
  t.match(status, { identity: { groups: ['file:acme:ops'] }, user: { username: 'file:acme:bob' } });
});

t.test('the impersonated user is shown beside the sender, and RBAC is asked about the former', async (t) => {
  const { status, asked, stage } = await explain({
    request: { ...PODS, headers: [['Impersonate-User', 'zoë']] },
  });
  t.match(
    status,
    parse("{outcome: forwarded, user: {username: 'acme:zoë'}, impersonator: {username: 'acme:alice'}}"),
  );
  t.match(stage('actAs'), { decision: 'passed', reason: '"acme:alice" may act as "acme:zoë"' });
  t.match(asked, [{ user: 'acme:zoë' }]);
});

const REFUSALS = [
  ['parseRequestInfo', 'RequestMalformed', get('/api//v1')],
  ['authenticate', 'CredentialMissing', { token: undefined }],
  [
    'authorize',
    'TenantForbidden',
    {
      pipeline: {
        authorizers: [
          {
            name: 'strict',
            authorize: () => Promise.reject(new StatusError('TenantForbidden', 'not yours')),
          },
        ],
      },
    },
  ],
  ['rewrite', 'PathForbidden', { ...get('/metrics'), pipeline: ARKTOS }],
  ['impersonate', 'IdentityTooLarge', { pipeline: { maxHeaderBytes: 10 } }],
] as const;

for (const [stage, code, options] of REFUSALS) {
  t.test(`${code} is a refusal of ${stage}; later stages are not reached`, async (t) => {
    const { status, asked } = await explain(options);
    t.equal(status.outcome, 'refused');
    t.match(status.refusal, { stage, code });
    const order = status.stages.map(({ name }) => name);
    const reached = order.indexOf(stage);
    const expected = order.map((_, at) =>
      at < reached ? 'passed' : at > reached ? 'notReached' : 'refused',
    );
    t.same(
      status.stages.map(({ decision }) => decision),
      expected,
    );
    t.equal(status.headers, undefined);
    t.same(asked, [], 'the API server is not asked in vain');
  });
}

t.test('the operator is told the cause, which is withheld from the client', async (t) => {
  const refused = unauthorized(new Error('Keystone said no', { cause: new Error('revoked') }));
  const { status, stage } = await explain({
    pipeline: {
      authenticators: [
        { name: 'other', takes: 'other tokens', authenticate: async () => undefined },
        ...authenticators(refused, 'keystone'),
        ...authenticators(alice, 'never'),
      ],
    },
  });
  t.match(
    status.refusal,
    parse(
      "{stage: authenticate, httpStatus: 401, message: Unauthorized, cause: 'Keystone said no: revoked'}",
    ),
  );
  t.strictSame(
    stage('authenticate')?.parts,
    parse(`
    - {name: other, decision: passedOn, reason: 'not its kind of credential: it takes other tokens'}
    - {name: keystone, decision: refused, reason: 'Keystone said no: revoked'}`),
  );
});

t.test('the credential is nowhere in the response, even if another server repeats it', async (t) => {
  const token = 'opaque-but-secret-token';
  const refused = unauthorized(`cannot read ${token}, nor eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.sig`);
  const { explanation } = await explain({
    token,
    ...get(`/api/v1/pods?token=other-secret&x=${token}`),
    pipeline: { authenticators: authenticators(refused) },
  });
  const text = JSON.stringify(explanation);
  for (const secret of [token, 'other-secret', 'eyJhbGciOiJub25lIn0']) t.notOk(text.includes(secret), secret);
});

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const CREDENTIALS = [
  ['gAAAAABx', /Keystone token/],
  [
    `${part({ alg: 'RS256' })}.${part({ iss: 'https://i', exp: 4_000_000_000 })}.c2ln`,
    /"https:\/\/i", expires 2096-/,
  ],
  [`${part({ alg: 'RS256' })}.${part({ exp: -1e20 })}.c2ln`, /a JWT without issuer$/],
  ['abc', /opaque, 3 characters/],
] as const;
for (const [token, words] of CREDENTIALS) {
  t.test(`the explanation names the kind of credential: ${words}`, async (t) => {
    t.match((await explain({ token })).status.credential, words);
  });
}

t.test('a refusal by RBAC is shown, though Stonegate would forward the request', async (t) => {
  const { status, stage } = await explain({ rbac: { allowed: false, reason: '' } });
  t.equal(status.outcome, 'forwarded');
  const reason = 'the API server will answer 403: no role allows it';
  t.match(stage('accessReview'), { decision: 'refused', reason });
});

t.test('if the API server cannot be asked, its decision is unknown', async (t) => {
  const rbac = new StatusError('UpstreamUnavailable', 'down', { cause: 'refused' });
  const reason = 'the API server cannot be asked: refused';
  t.match((await explain({ rbac })).last, { decision: 'unknown', reason });
});

t.test('an upgrade would be tunnelled', async (t) => {
  const { status, stage } = await explain(
    get('/api/v1/namespaces/web/pods/p/exec', { upgrade: 'WebSocket' }),
  );
  t.equal(status.outcome, 'tunnelled');
  t.match(stage('deliver')?.reason, /tunnelled \(websocket\)/);
});

t.test('the explanation says what Stonegate itself would ask the API server', async (t) => {
  await eachRow(
    `
    GET  | /apis/stonegate.dev/v1alpha1/selfidentity         | Stonegate answers it itself
    GET  | /apis                                             | Stonegate answers with what it fetches as itself, reduced to what the tenant may see
    POST | /apis/authentication.k8s.io/v1/selfsubjectreviews | Stonegate answers itself who the user is; the API server is not asked
    POST | /apis/authorization.k8s.io/v1/selfsubjectaccessreviews | after asking the API server unless it grants that to everybody`,
    async (method, path, deliver) => {
      const { status, asked, stage } = await explain({ request: { method, path }, pipeline: ARKTOS });
      t.equal(status.outcome, 'answered');
      t.match(stage('deliver')?.reason, deliver);
      const isSent = path.endsWith('selfsubjectaccessreviews');
      const impersonate = isSent
        ? 'the identity would be sent to the API server'
        : 'no header field of the request would be sent on';
      t.equal(stage('impersonate')?.reason, impersonate);
      t.same(asked, [], 'RBAC is not asked');
      t.equal(status.headers !== undefined, isSent, 'headers are shown only where any would be sent');
    },
  );
});

t.test('RBAC is asked about cluster-wide resources in no tenant, and about others in theirs', async (t) => {
  const about = async (path: string) => (await explain({ ...get(path), pipeline: ARKTOS })).asked;
  t.notMatch(await about('/api/v1/nodes'), [{ resourceAttributes: { tenant: /./ } }]);
  t.match(await about('/api/v1/pods'), [{ resourceAttributes: { tenant: 'acme' } }]);
  t.match(await about('/api/v1/tenants/acme/pods'), [{ resourceAttributes: { tenant: 'acme' } }]);
});

t.test('RBAC is asked about a path that names no resource as a path', async (t) => {
  const { asked } = await explain(get('/metrics'));
  t.match(asked, [{ nonResourceAttributes: { path: '/metrics', verb: 'get' } }]);
});

t.test('D139: an answer with fields of a later release is shown as unknown, not as a refusal', async (t) => {
  const { last } = await explain({ rbac: { allowed: false, unknownFields: ['conditionSetChain'] } });
  const reason = 'the API server answers more than yes or no: conditionSetChain';
  t.match(last, { decision: 'unknown', reason });
});

t.test('the explanation includes what the API server says besides yes or no', async (t) => {
  const reasonOf = async (rbac: ReviewedStatus) => (await explain({ rbac })).last?.reason;
  t.equal(await reasonOf({ allowed: true }), 'the API server allows it');
  const both = { allowed: true, denied: true, reason: 'a', evaluationError: 'b' };
  t.equal(await reasonOf(both), 'the API server will answer 403: a; b');
});

t.test('an error inside Stonegate is not taken for a decision of the API server', async (t) => {
  await t.rejects(explain({ rbac: new TypeError('a bug') }), { message: 'a bug' });
});

t.test('a pass-through user is described as such, and reviewed with their own token', async (t) => {
  const robot = upstreamIdentity('system:serviceaccount:default:robot');
  const { status, asked } = await explain({ pipeline: { authenticators: authenticators(robot) } });
  t.equal(status.outcome, 'forwarded');
  t.notMatch(JSON.stringify(status.headers), /impersonate/i);
  t.match(asked, [{ token: TOKEN, resourceAttributes: { verb: 'list', resource: 'pods' } }]);
  t.notMatch(JSON.stringify(status), TOKEN);
  t.match(status.stages.at(-2), { reason: /with the very token of/ });
});

t.test('the upgrade of a watch that would be filtered is refused', async (t) => {
  const { status } = await explain({
    ...get('/api/v1/pods?watch=1', { upgrade: 'websocket' }),
    filteredReason: async () => 'the watch is filtered',
  });
  t.match(status.refusal, { stage: 'deliver', code: 'UpgradeUnavailable', httpStatus: 503 });
});

t.test('a request that Stonegate answers with a filtered list is not shown as refused', async (t) => {
  const seen: unknown[] = [];
  const { status, asked, stage } = await explain({
    ...get('/api/v1/namespaces'),
    rbac: { allowed: false, reason: '' },
    async filteredReason(_outgoing, attributes) {
      seen.push(attributes);
      return 'the list is filtered: it has the namespaces that the user may get';
    },
  });
  t.equal(status.outcome, 'answered');
  t.match(stage('deliver'), {
    decision: 'passed',
    reason: 'Stonegate answers: the list is filtered: it has the namespaces that the user may get',
  });
  t.match(seen, [{ verb: 'list', group: '', version: 'v1', resource: 'namespaces', namespace: '' }]);
  t.same(asked, [], 'what the API server would say does not matter');
  t.equal(status.headers, undefined, 'the request itself is not sent');
});

t.test(
  'a list of more namespaces than one request may cover is refused, as the request would be',
  async (t) => {
    const { status, asked } = await explain({
      ...get('/api/v1/pods'),
      filteredReason: async () => new StatusError('TooManyNamespaces', 'one request is sent to 2 at most'),
    });
    t.equal(status.outcome, 'refused');
    t.match(status.refusal, { stage: 'deliver', code: 'TooManyNamespaces', httpStatus: 403 });
    t.same(asked, [], 'the API server would not be asked');
  },
);

t.test('a request that would be sent gets warnings, without the credential', async (t) => {
  const warningsOn = async () => [`there is no namespace "${TOKEN}"`];
  t.same((await explain({ warningsOn })).status.warnings, ['there is no namespace "[redacted]"']);
  t.equal((await explain({ warningsOn: async () => [] })).status.warnings, undefined);
  const refused = await explain({ warningsOn, ...get('/api//v1') });
  t.equal(refused.status.warnings, undefined);
});

t.test('a list that the scopes of an access token do not allow as a whole is shown as refused', async (t) => {
  const identity = { ...alice, accessToken: tokenScope('namespace/web/read') };
  const asToken = { ...get('/api/v1/pods'), pipeline: { authenticators: authenticators(identity) } };
  const { status, asked } = await explain(asToken);
  t.equal(status.outcome, 'refused');
  t.match(status.refusal, { stage: 'deliver', code: 'AccessDenied', message: /its scopes are namespace/ });
  t.same(asked, [], 'the API server would be asked about the owner');
  const filtered = await explain({ ...asToken, filteredReason: async () => 'the list is filtered' });
  t.equal(filtered.status.outcome, 'answered');
});
