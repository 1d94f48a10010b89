/** `kubectl auth can-i --list` of a tenant's user on Arktos says whether the list is complete. */
import t from 'tap';
import { indexedRules } from '../../../../src/features/self-reviews/indexed-rules.ts';
import type { AuthorizationMode } from '../../../../src/kubernetes/authorization-mode.ts';
import type { StoredObject } from '../../../../src/kubernetes/rbac-v1.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import type { QualifiedIdentity } from '../../../../src/tenancy/identity.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { keystoneIdentity, upstreamIdentity } from '../../../support/identities.ts';
import { outgoingOf } from '../../../support/outgoing.ts';
import { rule } from '../../../support/policy-rule.ts';
import { clusterRole, rbacObjects } from '../../../support/rbac-objects.ts';

const arktos = createArktosMode({ systemTenant: 'system', domains: { ops: 'system' } });
const shared = createSharedMode({ domains: {}, reservedNamePrefixes: [] });
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
const RULE = rule('get', 'pods');
const alice: QualifiedIdentity = keystoneIdentity('alice');

const toAlice = (...roles: string[]) =>
  roles.flatMap((role) =>
    rbacObjects(`RoleBinding a/${role}: ClusterRole/${role} to User acme:alice`, 'acme'),
  );
const OBJECTS = [...rbacObjects('Namespace a\nClusterRole view: get pods', 'acme'), ...toAlice('view')];

interface Told {
  readonly objects?: readonly StoredObject[];
  readonly authorizers?: readonly AuthorizationMode[];
}

function rulesOf({ objects = [], authorizers = ['Node', 'RBAC'] }: Told) {
  const { access } = accessIndexOf(...OBJECTS, ...objects);
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
    ...toAlice(name),
  ]);
  const status = rulesOf({ objects: large });
  t.match(status, { incomplete: true, evaluationError: /more than one review holds/ });
  t.ok(JSON.stringify(status).length < 1_100_000);
});

t.test('a list is incomplete if a binding of the namespace is left out of the index', async (t) => {
  const objects = toAlice('edit').map((binding) => ({ ...binding, isTooLarge: true as const }));
  t.match(rulesOf({ objects }), {
    resourceRules: [RULE],
    incomplete: true,
    evaluationError: /leaves out roles and bindings/,
  });
});

t.test('a missing role is reported, as the API server reports it', async (t) => {
  const gone = 'clusterrole.rbac.authorization.k8s.io "gone" not found';
  const lost = 'clusterrole.rbac.authorization.k8s.io "lost" not found';
  t.strictSame(rulesOf({ objects: toAlice('gone') }), {
    ...{ resourceRules: [RULE], nonResourceRules: [], incomplete: false },
    evaluationError: gone,
  });
  const objects = toAlice('gone', 'lost');
  t.equal(rulesOf({ objects })?.evaluationError, `[${gone}, ${lost}]`);
  t.match(rulesOf({ objects, authorizers: [] }), {
    incomplete: true,
    evaluationError: new RegExp(`^\\[Stonegate's operator .*, ${gone}, ${lost}\\]$`),
  });
});

t.test('the index is not used if it may not know the user’s rules', async (t) => {
  const site = accessIndexOf(...OBJECTS);
  const trust = { access: site.access, authorizers: ['RBAC'] as const };
  const rulesFor = (identity = alice, mode = arktos, index?: typeof trust) =>
    indexedRules(outgoingOf(mode, identity, { method: 'POST', target: REVIEWS }), 'a', mode, index);
  t.equal(rulesFor(), undefined, 'there is none');
  t.ok(rulesFor(alice, arktos, trust));
  t.equal(rulesFor(alice, shared, trust), undefined);
  t.equal(rulesFor(keystoneIdentity('dora', { home: 'ops' }), arktos, trust), undefined);
  t.equal(rulesFor(upstreamIdentity('system:serviceaccount:a:robot'), arktos, trust), undefined);
  site.becomeStale();
  t.equal(rulesFor(alice, arktos, trust), undefined);
});
