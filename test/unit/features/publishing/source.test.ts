import t from 'tap';
import { Copy } from '../../../../src/features/publishing/copy.ts';
import { readSource } from '../../../../src/features/publishing/source.ts';
import { PUBLISHED } from '../../../../src/kubernetes/published-objects.ts';
import { kindOf, type Mode, publishingSite } from '../../../support/memory-published.ts';
import { rule } from '../../../support/policy-rule.ts';

const RBAC = 'rbac.authorization.k8s.io';

/** Why an object of the namespace `shared` is not published; undefined if it is. */
function refusal(resource: string, fields: object, { mode = 'arktos', meta = {}, name = 'shared-x' } = {}) {
  const kind = kindOf(resource);
  const found = read(mode === 'shared' ? 'shared' : 'arktos', resource, fields, {
    name,
    ...(kind.namespaced && { namespace: 'shared' }),
    ...meta,
  });
  return 'refused' in found ? found.refused : undefined;
}

function read(mode: Mode, resource: string, fields: object, meta: object) {
  const metadata = { name: 'shared-x', annotations: { [PUBLISHED]: 'all' }, ...meta };
  const object = { apiVersion: 'v1', kind: 'Thing', ...fields, metadata };
  return readSource({ kind: kindOf(resource), object }, publishingSite({ mode }).rules);
}

const binding = (subject: object, roleRef: object = { kind: 'ClusterRole', name: 'stonegate:read' }) => ({
  roleRef: { apiGroup: RBAC, ...roleRef },
  subjects: [subject],
});
const group = (name: string) => ({ apiGroup: RBAC, kind: 'Group', name });
const user = (name: string) => ({ apiGroup: RBAC, kind: 'User', name });

t.test('tokens of the cluster and the state of Helm are never published', async (t) => {
  for (const type of [
    'kubernetes.io/service-account-token',
    'bootstrap.kubernetes.io/token',
    'helm.sh/release.v2',
  ])
    t.match(refusal('secrets', { type }), /never published/, type);
  t.match(refusal('secrets', {}), /unknown/);
  t.equal(refusal('secrets', { type: 'kubernetes.io/dockerconfigjson' }), undefined);
});

t.test('a role that grants more than the provisioner may is refused', async (t) => {
  const role = (rule: object, resource = 'roles') => refusal(resource, { rules: [rule] });
  const pods = rule('get', 'pods');
  t.equal(role(pods), undefined);
  t.equal(refusal('roles', { rules: [] }), undefined);
  t.match(role({ ...pods, resources: ['nodes'] }), /^rules\[0\]: get nodes is not among/);
  t.match(role({ ...pods, verbs: ['*'] }), /^rules\[0\]\.verbs/);
  t.match(role({ ...pods, nonResourceURLs: ['/metrics'] }, 'clusterroles'), /^rules\[0\]\.nonResourceURLs/);
  t.match(role({ ...pods, verbs: 'get' }), /cannot be read/);
  const selectors = [{ matchLabels: { mine: 'true' } }];
  t.match(
    refusal('clusterroles', { rules: [], aggregationRule: { clusterRoleSelectors: selectors } }),
    /aggregationRule/,
  );
});

t.test('a binding may name neither a subject of the cluster nor a reserved one', async (t) => {
  for (const name of ['system:masters', 'system:serviceaccounts', 'stonegate:guest:acme', '*', ''])
    t.match(refusal('rolebindings', binding(group(name))), /subjects\[0\]/, name);
  for (const name of ['system:serviceaccount:kube-system:x', '*'])
    t.match(refusal('rolebindings', binding(user(name))), /subjects\[0\]/, name);
  t.equal(refusal('rolebindings', binding(group('keystone:group:1'))), undefined);
  t.equal(refusal('rolebindings', binding(group('stonegate:tenant:acme')), { mode: 'shared' }), undefined);
});

t.test('system:authenticated means the users of one tenant only in arktos mode', async (t) => {
  const everyUser = binding(group('system:authenticated'));
  t.equal(refusal('rolebindings', everyUser), undefined);
  t.match(refusal('rolebindings', everyUser, { mode: 'shared' }), /every user of every tenant/);
});

t.test(
  'a service account is of the namespace of the source, and in a copy of that of the copy',
  async (t) => {
    const account = (namespace?: string) => ({
      kind: 'ServiceAccount',
      name: 'robot',
      ...(namespace && { namespace }),
    });
    t.match(refusal('rolebindings', binding(account('kube-system'))), /of the namespace shared/);
    t.match(refusal('rolebindings', binding(account())), /expected a namespace/);
    const meta = { namespace: 'shared' };
    const source = read('shared', 'rolebindings', binding(account('shared')), meta);
    if ('refused' in source) throw new Error(source.refused);
    const place = { namespace: 'web' };
    const receiver = { name: 'd', labels: {}, place, isTerminating: false, uid: 'u' };
    t.match(new Copy(source, place, receiver).object.subjects, [{ name: 'robot', namespace: 'web' }]);
  },
);

t.test('shared: a binding may name no ClusterRole but those of Stonegate', async (t) => {
  const cluster = { kind: 'ClusterRole', name: 'cluster-admin' };
  t.match(refusal('rolebindings', binding(group('g'), cluster), { mode: 'shared' }), /not cluster-admin/);
});

t.test('names of the cluster and of Stonegate are refused', async (t) => {
  for (const name of ['system:node', 'stonegate:edit'])
    t.match(refusal('clusterroles', { rules: [] }, { name }), /reserved/, name);
  for (const name of [`stonegate-${'a'.repeat(40)}`, `stonegate-policy-${'a'.repeat(40)}`])
    t.match(refusal('rolebindings', binding(group('g')), { name }), /reserved/);
  t.match(refusal('configmaps', {}, { name: 'kube-root-ca.crt' }), /its own object/);
  t.match(refusal('clusterroles', { rules: [] }, { name: 'other' }), /publishing\.clusterScoped/);
});

t.test(
  'a definition whose objects tenants would share is refused, and so is one with a webhook',
  async (t) => {
    const definition = (spec: object, meta: object = {}) =>
      refusal(
        'customresourcedefinitions',
        { spec: { group: 'example.com', names: { plural: 'things' }, scope: 'Tenant', ...spec } },
        { meta: { name: 'things.example.com', ...meta } },
      );
    t.equal(definition({}), undefined);
    t.match(definition({ scope: 'Cluster' }), /would share/);
    t.match(definition({ scope: undefined }), /would share/);
    t.match(definition({ conversion: { strategy: 'Webhook' } }), /webhook/);
    t.match(definition({ group: 'tenancy.stonegate.dev' }), /never published/);
    const labels = { 'arktos.futurewei.com/crd-sharing-policy': 'Forced' };
    t.match(definition({}, { labels }), /has it already/);
  },
);

t.test('shared: a selector may use only labels that tenants cannot set', async (t) => {
  const annotated = (value: string) =>
    refusal('configmaps', {}, { mode: 'shared', meta: { annotations: { [PUBLISHED]: value } } });
  t.match(annotated('region=eu'), /tenants may set the label region/);
  t.match(annotated('stonegate.dev.evil.com/x=eu'), /tenants may set/);
  t.equal(annotated('stonegate.dev/region=eu'), undefined);
  t.equal(annotated('kubernetes.io/metadata.name=web'), undefined);
});

t.test('a copy is not a source, and neither is an object that is too large', async (t) => {
  t.match(
    refusal('configmaps', {}, { meta: { labels: { 'stonegate.dev/published-from': 'x' } } }),
    /copy itself/,
  );
  t.match(refusal('configmaps', { data: { a: 'x'.repeat(900_000) } }), /larger than/);
});

t.test('the policy must be spelled exactly', async (t) => {
  const policy = (value: string, resource = 'configmaps') =>
    refusal(
      resource,
      { spec: { group: 'example.com', names: { plural: 'things' }, scope: 'Tenant' } },
      {
        name: 'shared.example.com',
        meta: { annotations: { [PUBLISHED]: 'all', [`${PUBLISHED}-policy`]: value } },
      },
    );
  t.equal(policy('LocalFirst'), undefined);
  t.match(policy('systemfirst'), /expected LocalFirst or SystemFirst$/);
  t.match(policy('constructor'), /expected/);
  t.equal(policy('SystemCRDFirst', 'customresourcedefinitions'), undefined);
});
