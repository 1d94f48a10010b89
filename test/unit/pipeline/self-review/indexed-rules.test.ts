/** `kubectl auth can-i --list` of a tenant's user on Arktos says whether the list is complete. */
import t from 'tap';
import { LEFT_OUT } from '../../../../src/access/index-state.ts';
import type { AuthorizationMode } from '../../../../src/api/authorization-mode.ts';
import type { StoredObject } from '../../../../src/api/rbac-v1.ts';
import { indexedRules } from '../../../../src/pipeline/self-review/indexed-rules.ts';
import { RBACIndex } from '../../../../src/rbac/rbac-index.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { keystoneIdentity, upstreamIdentity } from '../../../support/identities.ts';
import { outgoingOf } from '../../../support/outgoing.ts';
import { clusterRole, namespace, roleBinding, user } from '../../../support/rbac-objects.ts';

const arktos = createArktosMode({ systemTenant: 'system', domains: { ops: 'system' } });
const shared = createSharedMode({ domains: {}, reservedNamePrefixes: [] });
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
const RULE = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
const alice = keystoneIdentity('alice');

const toAlice = (name: string, role: string) =>
  roleBinding('a', name, `ClusterRole/${role}`, [user('acme:alice')], 'acme');
const OBJECTS = [
  namespace('a', { tenant: 'acme' }),
  clusterRole('view', [RULE], { tenant: 'acme' }),
  toAlice('view', 'view'),
];

interface Told {
  readonly objects?: readonly StoredObject[];
  readonly isSuspended?: boolean;
  readonly authorizers?: readonly AuthorizationMode[];
}

function rulesOf({ objects = OBJECTS, isSuspended = false, authorizers = ['Node', 'RBAC'] }: Told) {
  const { access } = accessIndexOf(...objects);
  const outgoing = outgoingOf(arktos, alice, { method: 'POST', target: REVIEWS });
  const doubted: object[] = [];
  const verifier = {
    isSuspended(asked: object) {
      doubted.push(asked);
      return isSuspended;
    },
  };
  return { status: indexedRules(outgoing, 'a', arktos, { access, verifier, authorizers }), doubted };
}

t.test('the rules in the namespace are complete if the index is trusted', async (t) => {
  const { status, doubted } = rulesOf({});
  t.strictSame(status, { resourceRules: [RULE], nonResourceRules: [], incomplete: false });
  t.match(doubted, [{ cluster: { tenant: 'acme', username: 'acme:alice', home: 'acme' } }]);
});

t.test('a list of a user about whom the API server disagrees is incomplete, and says so', async (t) => {
  const { status } = rulesOf({ isSuspended: true });
  t.match(status, { resourceRules: [RULE], incomplete: true, evaluationError: /disagree about the user/ });
});

t.test('so is one from an index that leaves objects of the tenant out', async (t) => {
  const index = new RBACIndex({ bounds: { objects: 2, bytes: 1_000_000 }, onLeftOut() {} });
  for (const object of OBJECTS) index.put(object);
  const outgoing = outgoingOf(arktos, alice, { method: 'POST', target: REVIEWS });
  const { access } = accessIndexOf();
  const partial = { index, stopped: access.stopped, state: () => 'current' as const };
  const status = indexedRules(outgoing, 'a', arktos, {
    access: { ...partial, waitFor: async () => true, incompleteReason: () => undefined },
    verifier: { isSuspended: (user) => index.isPartialFor(user) },
    authorizers: ['RBAC'],
  });
  t.match(status, { incomplete: true, evaluationError: LEFT_OUT });
});

t.test('so is one of a cluster in which another authorizer may decide', async (t) => {
  t.match(rulesOf({ authorizers: [] }).status, {
    incomplete: true,
    evaluationError: /has not stated in access\.authorizers/,
  });
  t.match(rulesOf({ authorizers: ['RBAC', 'Webhook'] }).status, {
    incomplete: true,
    evaluationError: /access\.authorizers names RBAC, Webhook/,
  });
});

t.test('a role that is missing is told, as the API server tells it', async (t) => {
  const gone = 'clusterrole.rbac.authorization.k8s.io "gone" not found';
  const lost = 'clusterrole.rbac.authorization.k8s.io "lost" not found';
  const one = rulesOf({ objects: [...OBJECTS, toAlice('gone', 'gone')] });
  t.strictSame(one.status, {
    ...{ resourceRules: [RULE], nonResourceRules: [], incomplete: false },
    evaluationError: gone,
  });
  const both = [...OBJECTS, toAlice('gone', 'gone'), toAlice('lost', 'lost')];
  t.equal(rulesOf({ objects: both }).status?.evaluationError, `[${gone}, ${lost}]`);
  t.match(rulesOf({ objects: both, isSuspended: true }).status, {
    incomplete: true,
    evaluationError: new RegExp(`^\\[the RBAC index .* disagree about the user, ${gone}, ${lost}\\]$`),
  });
});

t.test('the index is not asked if it may not know them', async (t) => {
  const site = accessIndexOf(...OBJECTS);
  const trust = {
    access: site.access,
    verifier: { isSuspended: () => false },
    authorizers: ['RBAC'] as const,
  };
  const reviewBy = (identity: typeof alice, mode = arktos) =>
    outgoingOf(mode, identity, { method: 'POST', target: REVIEWS });
  t.ok(indexedRules(reviewBy(alice), 'a', arktos, trust));
  t.equal(indexedRules(reviewBy(alice), 'a', arktos, undefined), undefined);
  t.equal(indexedRules(reviewBy(alice, shared), 'a', shared, trust), undefined);
  const operator = keystoneIdentity('dora', { home: 'ops' });
  t.equal(indexedRules(reviewBy(operator), 'a', arktos, trust), undefined);
  const robot = upstreamIdentity('system:serviceaccount:a:robot');
  t.equal(indexedRules(reviewBy(robot), 'a', arktos, trust), undefined);
  site.becomeStale();
  t.equal(indexedRules(reviewBy(alice), 'a', arktos, trust), undefined);
});
