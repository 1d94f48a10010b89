/** `kubectl auth can-i --list` of a tenant's user on Arktos says whether the list is complete. */
import t from 'tap';
import { indexedRules } from '../../../../src/features/self-reviews/indexed-rules.ts';
import type { AuthorizationMode } from '../../../../src/kubernetes/authorization-mode.ts';
import type { StoredObject } from '../../../../src/kubernetes/rbac-v1.ts';
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
  readonly authorizers?: readonly AuthorizationMode[];
}

function rulesOf({ objects = OBJECTS, authorizers = ['Node', 'RBAC'] }: Told) {
  const { access } = accessIndexOf(...objects);
  const outgoing = outgoingOf(arktos, alice, { method: 'POST', target: REVIEWS });
  return indexedRules(outgoing, 'a', arktos, { access, authorizers });
}

t.test('the rules in the namespace are complete if the index is trusted', async (t) => {
  t.strictSame(rulesOf({}), { resourceRules: [RULE], nonResourceRules: [], incomplete: false });
});

t.test('rules beyond a megabyte are left out, and the list says so', async (t) => {
  const names = Array.from({ length: 20 }, (_, at) => `large-${at}`);
  const resourceNames = [String('x').repeat(60_000)];
  const large = names.flatMap((name) => [
    clusterRole(name, [{ ...RULE, resourceNames }], { tenant: 'acme' }),
    toAlice(name, name),
  ]);
  const status = rulesOf({ objects: [...OBJECTS, ...large] });
  t.match(status, { incomplete: true, evaluationError: /more than one review holds/ });
  t.ok(JSON.stringify(status).length < 1_100_000);
});

/** Larger than the index accepts for one object. */
const LARGE = { ...toAlice('large', 'view'), isTooLarge: true as const };

t.test('a list is incomplete if a binding of the namespace is left out of the index', async (t) => {
  t.match(rulesOf({ objects: [...OBJECTS, LARGE] }), {
    resourceRules: [RULE],
    incomplete: true,
    evaluationError: /leaves out roles and bindings/,
  });
});

t.test('a missing role is reported, as the API server reports it', async (t) => {
  const gone = 'clusterrole.rbac.authorization.k8s.io "gone" not found';
  const lost = 'clusterrole.rbac.authorization.k8s.io "lost" not found';
  const one = rulesOf({ objects: [...OBJECTS, toAlice('gone', 'gone')] });
  t.strictSame(one, {
    ...{ resourceRules: [RULE], nonResourceRules: [], incomplete: false },
    evaluationError: gone,
  });
  const both = [...OBJECTS, toAlice('gone', 'gone'), toAlice('lost', 'lost')];
  t.equal(rulesOf({ objects: both })?.evaluationError, `[${gone}, ${lost}]`);
  t.match(rulesOf({ objects: both, authorizers: [] }), {
    incomplete: true,
    evaluationError: new RegExp(`^\\[Stonegate's operator .*, ${gone}, ${lost}\\]$`),
  });
});

t.test('the index is not used if it may not know the user’s rules', async (t) => {
  const site = accessIndexOf(...OBJECTS);
  const trust = {
    access: site.access,
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
