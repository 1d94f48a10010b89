import fc from 'fast-check';
import t from 'tap';
import { MalformedObject, readRevision } from '../../../src/kubernetes/list-watch.ts';
import { INDEXED_RESOURCES } from '../../../src/kubernetes/rbac-v1.ts';
import { createRBACReader } from '../../../src/rbac/read-rbac-object.ts';

const reader = createRBACReader({ inTenants: false });
const arktos = createRBACReader({ inTenants: true });
const written = (value: unknown, text = JSON.stringify(value) ?? '') => ({ value, text: () => text });
const metadata = { name: 'x', namespace: 'team', uid: 'u', resourceVersion: '7' };

t.test('the JSON of a namespace is unchanged, with the kind that lists leave out', async (t) => {
  const text =
    '{"metadata":{"name":"x","uid":"u","resourceVersion":"7","hashKey":5150130757220603189,"labels":{"10":"b","9":"a"}},"status":{"phase":"Active"}}';
  const stored = reader.read('namespaces', written(JSON.parse(text), text));
  t.match(stored, { tenant: '', name: 'x', revision: 7, phase: 'Active', labels: { '9': 'a', '10': 'b' } });
  t.equal('json' in stored && stored.json, `{"kind":"Namespace","apiVersion":"v1",${text.slice(1)}`);
  const event = `{"kind":"Namespace","apiVersion":"v1",${text.slice(1)}`;
  const same = reader.read('namespaces', written(JSON.parse(event), event));
  t.equal('json' in same && same.json, event, 'events already contain the kind');
  const pretty = JSON.stringify(JSON.parse(event), null, 2);
  const line = reader.read('namespaces', written(JSON.parse(pretty), pretty));
  t.notMatch('json' in line && line.json, /\n/, 'the JSON is one line, as an event of a watch must be');
});

t.test('roles and bindings are read', async (t) => {
  const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: [] }];
  t.match(reader.read('roles', written({ metadata, rules })), {
    resource: 'roles',
    namespace: 'team',
    rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
  });
  const aggregationRule = {
    clusterRoleSelectors: [
      { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'k', operator: 'In', values: ['v'] }] },
    ],
  };
  t.match(reader.read('clusterroles', written({ metadata, aggregationRule })), {
    namespace: '',
    rules: { length: 0 },
    aggregates: aggregationRule.clusterRoleSelectors,
  });
  const subjects = [
    { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'alice' },
    { kind: 'ServiceAccount', name: 'sa', namespace: 'team' },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
  t.strictSame(reader.read('rolebindings', written({ metadata, roleRef, subjects })), {
    tenant: '',
    name: 'x',
    uid: 'u',
    revision: 7,
    resource: 'rolebindings',
    namespace: 'team',
    roleRef: { kind: 'ClusterRole', name: 'view' },
    subjects: [
      { kind: 'User', name: 'alice', namespace: '' },
      { kind: 'ServiceAccount', name: 'sa', namespace: 'team' },
    ],
  });
  t.match(reader.read('clusterrolebindings', written({ metadata, roleRef })), {
    namespace: '',
    subjects: { length: 0 },
  });
});

t.test('an object belongs to its tenant on Arktos, and one without a tenant is malformed', async (t) => {
  t.equal(arktos.read('clusterroles', written({ metadata: { ...metadata, tenant: 'acme' } })).tenant, 'acme');
  t.throws(() => arktos.read('clusterroles', written({ metadata })), /has no tenant/);
  t.equal(reader.read('clusterroles', written({ metadata: { ...metadata, tenant: 'acme' } })).tenant, '');
});

t.test('malformed fields grant nothing', async (t) => {
  const rulesOf = (rule: unknown) => {
    const stored = reader.read('roles', written({ metadata, rules: [rule] }));
    return 'rules' in stored ? stored.rules : [];
  };
  t.strictSame(rulesOf({ verbs: 'get' }), [{ verbs: [] }]);
  t.strictSame(rulesOf({ verbs: ['get', 5, null] }), [{ verbs: ['get'] }]);
  t.strictSame(rulesOf(null), []);
  t.match(rulesOf({ verbs: ['get'], resources: ['pods'], resourceNames: [5] }), [{ verbs: { length: 0 } }]);
  t.match(rulesOf({ verbs: ['get'], resources: ['pods'], resourceNames: 'a' }), [{ verbs: { length: 0 } }]);
  t.match(rulesOf({ verbs: ['get'], resources: ['pods'], resourceNames: null }), [{ verbs: ['get'] }]);
  t.match(reader.read('rolebindings', written({ metadata, roleRef: 5, subjects: [5, { kind: 5 }] })), {
    roleRef: { kind: '', name: '' },
    subjects: [{ kind: '', name: '' }],
  });
});

t.test('a resource version is a positive safe integer', async (t) => {
  t.equal(readRevision('9007199254740991'), Number.MAX_SAFE_INTEGER);
  for (const value of ['0', '', '-1', '1.5', '1e3', ' 1', '9007199254740992', 'abc', 7, null, undefined])
    t.throws(() => readRevision(value), /is no number/, JSON.stringify(value) ?? 'undefined');
});

t.test('whatever an API server sends, an object is either read or reported as malformed', async () => {
  const value = fc.oneof(fc.jsonValue(), fc.constant(undefined));
  const object = fc.record({
    metadata: fc.record({
      name: value,
      namespace: value,
      uid: value,
      resourceVersion: fc.oneof(value, fc.constant('7')),
      labels: value,
    }),
    rules: fc.oneof(value, fc.array(fc.record({ verbs: value, resources: value, resourceNames: value }))),
    roleRef: value,
    subjects: fc.oneof(value, fc.array(fc.record({ kind: value, name: value }))),
    aggregationRule: fc.oneof(
      value,
      fc.record({
        clusterRoleSelectors: fc.array(fc.record({ matchLabels: value, matchExpressions: value })),
      }),
    ),
    status: value,
  });
  fc.assert(
    fc.property(fc.oneof(value, object), fc.constantFrom(...INDEXED_RESOURCES), (sent, resource) => {
      const text = JSON.stringify(sent) ?? 'null';
      try {
        const stored = reader.read(resource, written(JSON.parse(text), text));
        if (stored.name === '' || !Number.isSafeInteger(stored.revision)) throw new Error('unusable');
        if ('json' in stored) JSON.parse(stored.json);
      } catch (error) {
        if (!(error instanceof MalformedObject)) throw error;
      }
    }),
  );
});

t.test('of a role or binding over 64 kB, only the name is read', async (t) => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `name-${at}`);
  const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: names(10_000) }];
  const subjects = names(2_000).map((name) => ({ kind: 'User', name }));
  const roleRef = { kind: 'Role', name: 'r' };
  t.match(reader.read('roles', written({ metadata, rules })), {
    name: 'x',
    rules: { length: 0 },
    isTooLarge: true,
  });
  t.match(reader.read('rolebindings', written({ metadata, roleRef, subjects })), {
    ...{ roleRef, subjects: { length: 0 }, isTooLarge: true },
  });
  const few = { metadata, roleRef, subjects: subjects.slice(0, 1_000) };
  t.match(reader.read('rolebindings', written(few)), { isTooLarge: undefined });
  const own = { metadata: { ...metadata, tenant: 'acme' }, rules };
  t.match(arktos.read('clusterroles', written(own)), { rules: { length: 0 }, isTooLarge: true });
  t.match(reader.read('clusterroles', written({ metadata, rules })), {
    rules,
    isTooLarge: undefined,
  });
});
