import t from 'tap';
import { parse } from 'yaml';
import { StatusError, unauthorized } from '../../../../src/errors/status-error.ts';
import { createRulesReviewHandler } from '../../../../src/features/access-rules/handle-access-rules.ts';
import { createRulesDocuments } from '../../../../src/features/access-rules/rules-document.ts';
import { createAccessSubjects } from '../../../../src/proxy/access-subject.ts';
import { refuse } from '../../../../src/proxy/delivery.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import type { Identity } from '../../../../src/tenancy/identity.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import type { TenancyMode } from '../../../../src/tenancy/tenancy-mode.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { fakePipeline } from '../../../support/fake-pipeline.ts';
import { claimIdentity, keystoneIdentity, upstreamIdentity } from '../../../support/identities.ts';
import { outgoingOf } from '../../../support/outgoing.ts';
import { rbacObjects } from '../../../support/rbac-objects.ts';
import { linesOf } from '../../../support/rows.ts';

const PATH = '/apis/stonegate.dev/v1alpha1/accessrulesreviews';
const arktos = createArktosMode({ systemTenant: 'system', domains: { ops: 'system' } });
const shared = createSharedMode({ domains: {}, reservedNamePrefixes: ['oidc:'] });
/** When each review is made. */
const NOW = Date.parse('2026-01-01T00:00:00Z');
const END = NOW + 60_000;

const TOKENS: Readonly<Record<string, Identity | StatusError>> = {
  alice: keystoneIdentity('alice', { groups: ['keystone:project:p1'], expiresAt: END }),
  gina: keystoneIdentity('gina', { home: 'globex', expiresAt: END }),
  ops: keystoneIdentity('dora', { home: 'ops', expiresAt: END }),
  bad: unauthorized('Keystone does not know the token'),
  nowhere: keystoneIdentity('eve', { home: 'no tenant!' }),
  reserved: claimIdentity('system:admin'),
  overflow: new StatusError('GroupsOverflow', 'too many groups'),
  robot: upstreamIdentity('system:serviceaccount:a:robot'),
  down: new StatusError('KeystoneUnavailable', 'Keystone cannot be asked'),
  flood: new StatusError('CredentialRateExceeded', 'too many new credentials'),
};

const objectsIn = (tenant: string) =>
  rbacObjects(
    `ClusterRole view: list pods
    RoleBinding ns-0/b: ClusterRole/view to User acme:alice
    RoleBinding ns-1/b: ClusterRole/view to User globex:gina
    RoleBinding ns-2/b: ClusterRole/view to Group keystone:project:p1
    RoleBinding ns-3/b: ClusterRole/view to Group stonegate:tenant:acme`,
    tenant,
  );

interface Site {
  readonly mode: TenancyMode;
  readonly caller: Identity;
}

const service = keystoneIdentity('search', { groups: ['keystone:project:own'] });
const inArktos: Site = { mode: arktos, caller: service };
const asSystem: Site = { mode: arktos, caller: keystoneIdentity('search', { home: 'ops' }) };
const inShared: Site = { mode: shared, caller: service };

async function review({ mode, caller }: Site, spec: object | string) {
  const sources: string[] = [];
  const tenants = mode === arktos ? ['acme', 'globex', 'system'] : [''];
  const clock = createFakeClock(NOW);
  const { access } = accessIndexOf(...tenants.flatMap(objectsIn));
  const pipeline = fakePipeline({ mode });
  const documents = createRulesDocuments({ access, namedSets: [], authorizers: ['Node', 'RBAC'], clock });
  const handler = createRulesReviewHandler({
    ...{ documents, mode, clock, subjects: createAccessSubjects(pipeline) },
    limits: { bodyBytes: 100_000, bodyTimeout: 1_000 },
    authenticators: [
      {
        name: 'fake',
        authenticate(credential, { source }) {
          sources.push(source);
          const found = credential.kind === 'bearer' ? TOKENS[credential.token] : undefined;
          if (found instanceof Error) throw found;
          return found;
        },
      },
    ],
  });
  const body = { kind: 'AccessRulesReview', apiVersion: 'stonegate.dev/v1alpha1', spec };
  const exchange = fakeExchange({
    method: 'POST',
    target: PATH,
    headers: [['Content-Type', 'application/json']],
    body: typeof spec === 'string' ? spec : JSON.stringify(body),
  });
  const outgoing = {
    ...outgoingOf(mode, caller, exchange),
    route: { kind: 'own-api', resource: 'accessrulesreviews', namespace: '', name: '' },
  } as const;
  try {
    const response = await handler(outgoing);
    if (response === undefined) throw new TypeError('it was not answered');
    return {
      ...{ sources, status: response.status, body: JSON.parse(response.body.toString()) },
      outcome: undefined,
    };
  } catch (error) {
    const outcome = refuse(error, outgoing, pipeline.writeStatus);
    const { response } = exchange;
    return { status: response.status, body: JSON.parse(response.text), sources, outcome };
  }
}

t.test(
  "a service asks with a user's token, and the response names the user but does not repeat the token",
  async (t) => {
    const { status, body, sources } = await review(inArktos, { verb: 'list', token: 'alice' });
    t.equal(status, 201);
    t.match(
      body,
      parse(`
      kind: AccessRulesReview
      spec: {verb: list}
      status:
        user: {username: 'acme:alice', uid: uid-of-alice}
        tenant: acme
        verb: list
        namespaces: [{names: [ns-0, ns-2]}]
        validUntil: !!str 2026-01-01T00:01:00Z`),
    );
    t.notMatch(JSON.stringify(body.spec), 'token');
    t.same(sources, ['reviews of acme'], "the limit of the service's tenant applies");
  },
);

t.test('a service asks about a user with groups and extra, as in a SubjectAccessReview', async (t) => {
  const named = { user: 'acme:alice', groups: ['keystone:project:p1'], uid: 'u', extra: { a: ['b'] } };
  const { status, body } = await review(inArktos, { verb: 'list', ...named });
  t.equal(status, 201);
  t.match(body.status, { user: { username: 'acme:alice' }, namespaces: [{ names: ['ns-0', 'ns-2'] }] });
  const alone = await review(inArktos, { verb: 'list', user: 'acme:alice' });
  t.match(alone.body.status.namespaces, [{ names: ['ns-0'] }], 'no group is added');
});

t.test('in a cluster without tenants a service may name only groups of all users, or its own', async (t) => {
  for (const group of ['system:authenticated', 'stonegate:tenant:acme', 'keystone:project:own'])
    t.equal((await review(inShared, { user: 'acme:alice', groups: [group] })).status, 201, group);
  for (const group of ['keystone:project:p1', 'stonegate:tenant:globex', 'system:masters'])
    t.equal((await review(inShared, { user: 'acme:alice', groups: [group] })).status, 403, group);
});

t.test('all refusals look alike, so that a client does not learn which tokens and users exist', async (t) => {
  const names = [
    ...linesOf(`
      globex:gina
      alice
      acme:
      acme:system:x
      system:stonegate:dora
      system:serviceaccount:a:robot
      system:admin`),
    'acme:guest:globex:bob\n',
  ];
  const refused = [
    ...'bad gina ops nowhere reserved overflow unknown'
      .split(' ')
      .map((token) => [inArktos, { token }] as const),
    ...'bad gina nowhere reserved'.split(' ').map((token) => [inShared, { token }] as const),
    ...names.flatMap((user) => [[inArktos, { user }] as const, [inShared, { user }] as const]),
    [inArktos, { user: 'acme:alice', groups: ['system:masters'] }],
    [asSystem, { token: 'bad' }],
    [asSystem, { user: 'alice' }],
    [asSystem, { user: 'No Tenant:alice' }],
  ] as const;
  const alike = await review(inArktos, { token: 'bad' });
  t.equal(alike.status, 403);
  for (const [site, spec] of refused) {
    const { status, body, outcome } = await review(site, spec);
    const title = JSON.stringify(spec);
    t.strictSame([status, body], [alike.status, alike.body], title);
    const cause = outcome?.error instanceof Error ? outcome.error.cause : 'none';
    t.same([outcome?.annotations, cause], [{}, undefined], title);
  }
});

t.test('a backend that is down causes a 503, and a flood of tokens a 429', async (t) => {
  t.equal((await review(inArktos, { token: 'down' })).status, 503);
  t.equal((await review(inArktos, { token: 'flood' })).status, 429);
});

t.test('a service of the system tenant asks about the users of every tenant', async (t) => {
  for (const asked of [{ token: 'gina' }, { user: 'globex:gina' }])
    t.match((await review(asSystem, { verb: 'list', ...asked })).body.status, {
      tenant: 'globex',
      namespaces: [{ names: ['ns-1'] }],
    });
  t.equal((await review(asSystem, { user: 'system:stonegate:dora' })).status, 201);
});

t.test('a body that is not a review is refused, and the response repeats nothing of it', async (t) => {
  for (const text of linesOf(`
    {"kind":"AccessRulesReview","apiVersion":"stonegate.dev/v1alpha1","spec":{}}
    {"kind":"AccessRulesReview","apiVersion":"stonegate.dev/v1alpha1","spec":{"token":"secret","user":"acme:alice"}}
    {"kind":"AccessRulesReview","apiVersion":"stonegate.dev/v1alpha1","spec":{"user":"acme:alice","groups":[7]}}
    {"kind":"AccessRulesReview","apiVersion":"stonegate.dev/v1alpha1","spec":{"user":"acme:alice","vreb":"secret"}}
    {"kind":"Explanation","apiVersion":"stonegate.dev/v1alpha1","spec":{"token":"alice"}}
    secret
    {"spec":{"token":"a","token":"secret"}}`)) {
    const { status, body } = await review(inArktos, text);
    t.equal(status, 400, text);
    t.notMatch(JSON.stringify(body), 'secret');
  }
});
