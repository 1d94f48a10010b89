import { Readable } from 'node:stream';
import t from 'tap';
import { parse } from 'yaml';
import { StatusError } from '../../../../src/errors/status-error.ts';
import {
  createSelfReviewHandler,
  type SelfReviewOptions,
} from '../../../../src/features/self-reviews/handle-self-review.ts';
import type { SubjectAccessReviewStatus } from '../../../../src/kubernetes/authorization-v1.ts';
import type { Clock } from '../../../../src/lib/clock.ts';
import type { HeaderList } from '../../../../src/lib/header-list.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import type { Identity } from '../../../../src/tenancy/identity.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { keystoneIdentity, upstreamIdentity } from '../../../support/identities.ts';
import { fakeFetcher, outgoingOf } from '../../../support/outgoing.ts';
import { rule } from '../../../support/policy-rule.ts';
import { encodeObject, type Message } from '../../../support/protobuf.ts';
import { rbacObjects } from '../../../support/rbac-objects.ts';
import { recordedReviewer } from '../../../support/reviewed.ts';
import { eachRow, linesOf } from '../../../support/rows.ts';
import { tokenScope } from '../../../support/token-scope.ts';

const arktos = createArktosMode({ systemTenant: 'system', domains: { ops: 'system' } });
const ACCESS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const RULES = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
const WHOAMI = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const FORBIDDEN = { status: 403, body: { kind: 'Status', code: 403 } };
const listPods = { resourceAttributes: { namespace: 'ns', verb: 'list', resource: 'pods' } };
const standingClock: Clock = { now: () => 0, monotonic: () => 0, after: () => ({ cancel() {} }) };

interface Options {
  readonly target?: string;
  readonly home?: string;
  /** By default alice of the domain `home`. */
  readonly identity?: Identity;
  readonly clock?: Clock;
  readonly headers?: HeaderList;
  readonly body?: string | Buffer | Readable;
  readonly bodyBytes?: number;
  readonly upstream?: Parameters<typeof fakeFetcher>[0];
  readonly review?: SubjectAccessReviewStatus | Error;
  readonly filtered?: SelfReviewOptions['filtered'];
  readonly indexed?: NonNullable<SelfReviewOptions['indexed']>;
}

/** Posts a self review. @returns the response, and what the API server was asked */
async function post(spec: unknown, options: Options = {}) {
  const { target = ACCESS, home = 'acme', headers = [], clock = standingClock } = options;
  const { filtered, indexed } = options;
  const {
    upstream = () => FORBIDDEN,
    review = { allowed: false },
    body = JSON.stringify({ spec }),
    bodyBytes = 1024,
    identity = keystoneIdentity('alice', { home }),
  } = options;
  const fetcher = fakeFetcher(upstream);
  const { reviewer, asked: reviewed } = recordedReviewer(review);
  const limits = { bodyBytes, bodyTimeout: 1000 };
  const handler = createSelfReviewHandler({
    ...{ fetcher, reviewer, mode: arktos, clock, limits },
    ...(filtered && { filtered }),
    ...(indexed && { indexed }),
  });
  const exchange = {
    ...fakeExchange({ method: 'POST', target, headers }),
    body: body instanceof Readable ? body : Readable.from([Buffer.from(body)]),
  };
  const answer = await handler(outgoingOf(arktos, identity, exchange));
  const sent = fetcher.asked.map(({ body: text, ...rest }) => ({ ...rest, body: JSON.parse(String(text)) }));
  return { status: answer?.status, json: JSON.parse(String(answer?.body)), answer, sent, reviewed };
}

/** An API server that answers with this body. */
const answering = (body: object | string) => ({ upstream: () => ({ status: 201, body }) });
const ALLOWS = answering({ status: { allowed: true } });

t.test('the API server is asked as the user, with the tenant filled in', async (t) => {
  const { sent, reviewed, status, json } = await post(listPods, ALLOWS);
  t.match(
    sent,
    parse(`[{
      method: POST,
      target: /apis/authorization.k8s.io/v1/tenants/acme/selfsubjectaccessreviews,
      body: {
        kind: SelfSubjectAccessReview,
        apiVersion: authorization.k8s.io/v1,
        spec: {resourceAttributes: {tenant: acme, namespace: ns, verb: list, resource: pods}}}}]`),
  );
  t.ok(sent[0]?.headers.some(([name, value]) => name === 'Impersonate-User' && value === 'acme:alice'));
  t.strictSame(
    { status, json, reviewed },
    { status: 201, json: { status: { allowed: true } }, reviewed: [] },
  );
});

t.test(
  'a user who may not ask gets the answer all the same, in the requested kind and version',
  async (t) => {
    const review = { allowed: true, reason: 'RBAC: allowed by …' };
    const target = ACCESS.replace('/v1/', '/v1beta1/');
    const { status, json, reviewed } = await post(listPods, { review, target });
    const resourceAttributes = { ...listPods.resourceAttributes, tenant: 'acme' };
    t.strictSame(reviewed, [{ user: 'acme:alice', resourceAttributes }]);
    t.equal(status, 201);
    t.strictSame(json, {
      kind: 'SelfSubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1beta1',
      metadata: {},
      spec: { resourceAttributes },
      status: review,
    });
  },
);

t.test(
  'D019 a list that would be filtered is allowed, as far as access.selfReviews says, never secrets',
  async (t) => {
    await eachRow(
      `
      namespaces | namespaces | true
      all        | pods       | true
      none       | namespaces | false
      namespaces | pods       | false
      all        | secrets    | false`,
      async (extent, resource, allowed) => {
        const answer = await post(
          { resourceAttributes: { verb: 'list', resource } },
          { filtered: { extent: parse(extent), reason: async () => 'the list is filtered' } },
        );
        const expected = { allowed: true, reason: 'Stonegate: the list is filtered' };
        t.same(
          answer.json.status,
          allowed === 'true' ? expected : { allowed: false },
          `${extent} ${resource}`,
        );
      },
    );
  },
);

t.test(
  'C214 a question about another tenant is denied, as by Arktos, and the API server is not asked',
  async (t) => {
    for (const tenant of ['globex', 'system', 'all']) {
      const spec = { resourceAttributes: { verb: 'get', resource: 'pods', tenant } };
      const { sent, reviewed, status, json } = await post(spec, { review: { allowed: true } });
      t.strictSame([sent, reviewed, status], [[], [], 201]);
      t.match(json, { spec, status: { allowed: false, denied: true } });
    }
  },
);

t.test('C214 only the fields of the body that Stonegate inspects are sent on', async (t) => {
  const spec = parse(`
    user: system:admin
    groups: [system:masters]
    resourceAttributes: {verb: get, resource: pods, target: x, user_id: y}`);
  const { sent, json } = await post(spec);
  const only = { resourceAttributes: { verb: 'get', resource: 'pods', tenant: 'acme' } };
  t.strictSame(sent[0]?.body.spec, only);
  t.strictSame(json.spec, only);
});

t.test(
  'a user of the system tenant may ask about any tenant, and by default asks about their own',
  async (t) => {
    const named = { resourceAttributes: { verb: 'get', resource: 'pods', tenant: 'globex' } };
    t.match((await post(named, { home: 'ops' })).reviewed, [{ resourceAttributes: { tenant: 'globex' } }]);
    t.match((await post(listPods, { home: 'ops' })).reviewed, [{ resourceAttributes: { tenant: 'system' } }]);
  },
);

for (const tenant of ['globex/subjectaccessreviews?x=', '*']) {
  t.test(
    `${JSON.stringify(tenant)} cannot be the name of a tenant: 400, and no review is sent`,
    async (t) => {
      for (const home of ['ops', 'acme']) {
        const named = { resourceAttributes: { verb: 'get', resource: 'pods', tenant } };
        await t.rejects(post(named, { home }), { code: 'BodyMalformed', http: 400 });
      }
    },
  );
}

t.test(
  'a right to a resource that no tenant has is reviewed without a tenant, so the answer is no',
  async (t) => {
    const nodes = { resourceAttributes: { verb: 'list', resource: 'nodes' } };
    t.strictSame((await post(nodes)).sent[0]?.body.spec, nodes);
    t.strictSame((await post(nodes)).reviewed, [{ user: 'acme:alice', ...nodes }]);
    t.match((await post(nodes, { home: 'ops' })).reviewed, [{ resourceAttributes: { tenant: 'system' } }]);
  },
);

t.test('a right to a path is reviewed without a tenant', async (t) => {
  const spec = { nonResourceAttributes: { path: '/metrics', verb: 'get' } };
  const { reviewed, json } = await post(spec);
  t.strictSame(reviewed, [{ user: 'acme:alice', ...spec }]);
  t.strictSame(json.spec, spec);
});

t.test('a request that Stonegate serves for every user is allowed, and no more than that', async (t) => {
  await eachRow(
    `
    true  | {nonResourceAttributes: {path: /apis/apps/v1, verb: get}}
    true  | {resourceAttributes: {verb: create, group: authentication.k8s.io, resource: selfsubjectreviews}}
    false | {nonResourceAttributes: {path: '/apis/*', verb: get}}
    false | {resourceAttributes: {verb: delete, group: authorization.k8s.io, resource: selfsubjectaccessreviews}}`,
    async (allowed, spec) => {
      const { json, sent } = await post(parse(spec));
      t.equal(json.status.allowed, allowed === 'true', spec);
      t.equal(sent.length, allowed === 'true' ? 0 : 1, spec);
    },
  );
});

t.test('C073 any other response of the API server is passed on', async (t) => {
  const { status, json, answer } = await post(listPods, {
    upstream: () => ({ status: 422, body: { kind: 'Status' } }),
  });
  t.strictSame({ status, json }, { status: 422, json: { kind: 'Status' } });
  t.strictSame(answer?.headers, [['Content-Type', 'application/json']]);
});

t.test('C027 if Stonegate cannot ask on the user’s behalf either, the request fails', async (t) => {
  const review = new StatusError('UpstreamUnavailable', 'down');
  await t.rejects(post(listPods, { review }), { code: 'UpstreamUnavailable' });
});

t.test('C131 the API server’s rules are unchanged, and Stonegate’s own follow them', async (t) => {
  const theirs = rule('*', '*', '*');
  const status = { resourceRules: [theirs], nonResourceRules: [], incomplete: false };
  const { sent, json } = await post(
    { namespace: 'ns' },
    { target: RULES, ...answering({ kind: 'SelfSubjectRulesReview', spec: {}, status }) },
  );
  t.match(sent, [{ body: { kind: 'SelfSubjectRulesReview', spec: { namespace: 'ns' } } }]);
  t.strictSame(json.status.resourceRules[0], theirs);
  t.match(
    json.status,
    parse(`
    resourceRules:
    - {}
    - {verbs: [create], apiGroups: [authorization.k8s.io]}
    - {verbs: [create], apiGroups: [authentication.k8s.io], resources: [selfsubjectreviews]}
    nonResourceRules: [{nonResourceURLs: [/api, /api/v1]}]
    incomplete: false`),
  );
});

t.test(
  'C131 a user who may not ask for rules is told so, and gets the rules that Stonegate grants',
  async (t) => {
    const { status, json } = await post({ namespace: 'ns' }, { target: RULES });
    t.equal(status, 201);
    t.match(json, {
      kind: 'SelfSubjectRulesReview',
      apiVersion: 'authorization.k8s.io/v1',
      status: { incomplete: true, evaluationError: /may not create selfsubjectrulesreviews/ },
    });
    t.equal(json.status.resourceRules.length, 3);
  },
);

t.test('more rules of the API server than a review holds are not read, and the answer says so', async (t) => {
  const rules = Array(21_000).fill(rule('*', '*', '*'));
  const status = { resourceRules: rules, nonResourceRules: [], incomplete: false };
  const { json } = await post({ namespace: 'ns' }, { target: RULES, ...answering({ status }) });
  t.match(json.status, { incomplete: true, evaluationError: /more than one review holds/ });
  t.equal(json.status.resourceRules.length, 3, 'those that Stonegate grants');
});

t.test('rules that cannot be read are a 503', async (t) => {
  for (const body of ['no json', '{"status":{"resourceRules":[]}}'])
    await t.rejects(post({}, { target: RULES, ...answering(body) }), { code: 'UpstreamUnavailable' }, body);
});

t.test('whoami shows exactly the user that would be sent', async (t) => {
  const clock = createFakeClock(Date.parse('2026-11-22T13:15:07.321Z'));
  const { status, json, sent } = await post({}, { target: WHOAMI.replace('/v1/', '/v1beta1/'), clock });
  t.equal(status, 201);
  t.strictSame(
    json,
    parse(`
      kind: SelfSubjectReview
      apiVersion: authentication.k8s.io/v1beta1
      metadata: {creationTimestamp: !!str 2026-11-22T13:15:07Z}
      status: {userInfo: {username: 'acme:alice', uid: uid-of-alice, groups: [system:authenticated]}}`),
  );
  t.strictSame(sent, []);
});

t.test(
  'C243 a review that is invalid JSON, or has none or two attributes or a wrong verb, is a 400',
  async (t) => {
    for (const body of linesOf(`
    {"spec"
    {"spec":{}}
    {"spec":{"resourceAttributes":{},"nonResourceAttributes":{}}}
    {"spec":{"resourceAttributes":{"verb":["get"]}}}`))
      await t.rejects(post(undefined, { body }), { code: 'BodyMalformed', http: 400 }, body);
  },
);

for (const headers of [[['Content-Type', 'application/cbor']], [['Content-Encoding', 'gzip']]] as const) {
  t.test(`a review with ${headers[0].join(': ')} is a 415`, async (t) => {
    await t.rejects(post(listPods, { headers }), { code: 'MediaTypeUnsupported', http: 415 });
  });
}

const PROTOBUF = [['Content-Type', 'application/vnd.kubernetes.protobuf']] as const;
const AUTHORIZATION = 'authorization.k8s.io/v1';
const access = (spec: Message): Buffer =>
  encodeObject(AUTHORIZATION, 'SelfSubjectAccessReview', [
    [1, []],
    [2, spec],
    [3, [[1, 0]]],
  ]);

t.test('a review in protobuf, as kubectl sends since 1.32, is read, and answered in JSON', async (t) => {
  const attributes: Message = [
    [1, 'ns'],
    [2, 'list'],
    [3, ''],
    [5, 'pods'],
    [99, 'new'],
  ];
  const { sent, json } = await post(undefined, { headers: PROTOBUF, body: access([[1, attributes]]) });
  t.same(sent[0]?.body.spec, {
    resourceAttributes: { namespace: 'ns', verb: 'list', resource: 'pods', tenant: 'acme' },
  });
  t.equal(json.kind, 'SelfSubjectAccessReview');
});

t.test('a review may have at most 64 KiB, however long the bodies of other requests may be', async (t) => {
  const bodyBytes = 256 * 1024;
  const body = Buffer.from(`${JSON.stringify(listPods)}${' '.repeat(64 * 1024)}`);
  await t.rejects(post(undefined, { body: Readable.from([body]), bodyBytes }), { code: 'BodyTooLarge' });
});

t.test('a pass-through user', async (t) => {
  const identity = upstreamIdentity('system:serviceaccount:default:robot');
  t.test('asks with their own token, with the tenant filled in', async (t) => {
    const { sent, status } = await post(listPods, { identity, ...ALLOWS });
    t.equal(status, 201);
    t.match(
      sent,
      parse(`[{
        sender: {kind: client, token: client-token},
        target: /apis/authorization.k8s.io/v1/tenants/acme/selfsubjectaccessreviews,
        body: {spec: {resourceAttributes: {tenant: acme, verb: list}}}}]`),
    );
  });
  t.test('is never reviewed by name, since another user may have that name', async (t) => {
    const { status, reviewed } = await post(listPods, { identity, review: { allowed: true } });
    t.equal(status, 403);
    t.same(reviewed, []);
  });
});

/** Alice with an access token. */
function tokenOf(scopes: string, home = 'acme'): Pick<Options, 'identity' | 'home'> {
  const tenant = home === 'ops' ? 'system' : home;
  return {
    identity: { ...keystoneIdentity('alice', { home }), accessToken: tokenScope(scopes, [], tenant) },
  };
}

t.test(
  'a right that an access token lacks is answered with no, and the API server is not asked',
  async (t) => {
    const token = { ...tokenOf('namespace/ns/read'), ...ALLOWS };
    t.match((await post(listPods, token)).json.status, { allowed: true });
    for (const text of linesOf(`
      {namespace: other, verb: list, resource: pods}
      {namespace: ns, verb: delete, resource: pods}
      {namespace: ns, verb: get, resource: secrets}
      {namespace: ns, verb: get, group: '*', resource: '*'}`)) {
      const spec = { resourceAttributes: parse(text) };
      const { json, sent, reviewed } = await post(spec, token);
      t.same([sent, reviewed], [[], []]);
      const status = { allowed: false, reason: /access token .* its scopes are namespace\/ns\/read/ };
      t.match(json, { kind: 'SelfSubjectAccessReview', spec, status }, text);
    }
    const logs = { nonResourceAttributes: { path: '/logs/x', verb: 'get' } };
    t.match((await post(logs, token)).json.status, { allowed: false });
  },
);

t.test('a list that would be filtered is answered with yes for an access token too', async (t) => {
  const filtered = { extent: 'all', reason: async () => 'the list is filtered' } as const;
  const spec = { resourceAttributes: { verb: 'list', resource: 'pods' } };
  t.match((await post(spec, { ...tokenOf('namespace/ns/read'), filtered })).json.status, { allowed: true });
});

t.test('the rules of an access token are those of its owner within its scope', async (t) => {
  const status = {
    resourceRules: [rule('get,delete', 'pods,secrets'), rule('*', 'deployments', 'apps')],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/metrics', '/version'] }],
    incomplete: false,
  };
  const rulesOf = async (scopes: string, home: string) => {
    const answer = answering({ kind: 'SelfSubjectRulesReview', spec: {}, status });
    const { json } = await post({ namespace: 'ns' }, { ...tokenOf(scopes, home), target: RULES, ...answer });
    return json.status;
  };
  for (const home of ['acme', 'ops']) {
    const { resourceRules, nonResourceRules, incomplete } = await rulesOf('namespace/ns/read', home);
    t.match(resourceRules.slice(0, 2), [rule('get', 'pods'), rule('get,list,watch', 'deployments', 'apps')]);
    t.notMatch(JSON.stringify(resourceRules), /secrets|delete/);
    t.match(JSON.stringify(resourceRules), /selfsubjectrulesreviews/, 'it may ask about itself');
    t.match(nonResourceRules[0], { verbs: ['get'], nonResourceURLs: ['/version'] });
    t.notMatch(JSON.stringify(nonResourceRules), /metrics/);
    t.equal(incomplete, false);
  }
  t.match(await rulesOf('namespace/ns/manage', 'acme'), {
    incomplete: true,
    evaluationError: /does not allow all that \* matches/,
  });
});

t.test('the rules from the index are limited to the scope of an access token too', async (t) => {
  const { access } = accessIndexOf(
    ...rbacObjects(
      `Role ns/r: get,delete pods
      RoleBinding ns/b: Role/r to User acme:alice`,
      'acme',
    ),
  );
  const indexed = { access, authorizers: ['RBAC'] } as const;
  const { json } = await post(
    { namespace: 'ns' },
    { ...tokenOf('namespace/ns/read'), target: RULES, indexed },
  );
  t.match(json.status.resourceRules[0], { verbs: ['get'], resources: ['pods'] });
});
