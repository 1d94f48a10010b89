import t from 'tap';
import { parseSections, problemsOfSections } from '../../support/configuration-problems.ts';

const CREDENTIAL = 'bindings: { credential: { tokenFile: p } }';

function parse(mode: string, publishing: string, rest = CREDENTIAL) {
  const sections = { tenancy: `{ mode: ${mode} }`, publishing: `{ ${publishing} }` };
  const { configuration } = parseSections(sections, rest);
  return { publishing: configuration?.publishing, problems: problemsOfSections(sections, rest) };
}

t.test('namespaces, kinds and names are read', async (t) => {
  const { publishing, problems } = parse(
    'arktos',
    'namespaces: [shared], clusterScoped: [{ resource: clusterroles, names: "shared-*" }], kinds: [batch/v1/cronjobs, v1/podtemplates], interval: 1m',
  );
  t.same(problems, []);
  t.match(publishing, {
    namespaces: ['shared'],
    clusterScoped: [
      { kind: { group: 'rbac.authorization.k8s.io', resource: 'clusterroles', namespaced: false } },
    ],
    kinds: [
      { group: 'batch', version: 'v1', resource: 'cronjobs', namespaced: true },
      { group: '', version: 'v1', resource: 'podtemplates', namespaced: true },
    ],
    interval: 60_000,
  });
});

t.test('publishing nothing is refused', async (t) =>
  t.match(parse('shared', 'interval: 5m').problems, [/publishing\.namespaces.*is required/]),
);

t.test('namespaces of the cluster and of Stonegate are refused', async (t) => {
  for (const name of ['kube-system', 'default', 'stonegate', 'stonegate-system'])
    t.match(parse('shared', `namespaces: [${name}]`).problems, [/is reserved/], name);
  t.match(parse('shared', 'namespaces: [shared, shared]').problems, [/each namespace once/]);
});

t.test('cluster-scoped objects are refused in shared mode, where tenants share them anyway', async (t) => {
  const clusterRoles = 'clusterScoped: [{ resource: clusterroles, names: "shared-*" }]';
  t.match(parse('shared', clusterRoles).problems, [/expected none in shared mode/]);
  t.same(parse('arktos', clusterRoles).problems, []);
});

t.test('a kind must be written in full, and must be one that may be published', async (t) => {
  const kinds = (kind: string) => parse('shared', `namespaces: [shared], kinds: ["${kind}"]`).problems;
  t.match(kinds('cronjobs'), [/expected GROUP\/VERSION\/RESOURCE/]);
  t.match(kinds('*/v1/*'), [/expected GROUP\/VERSION\/RESOURCE/]);
  t.match(kinds('v1/pods/exec'), [/expected GROUP\/VERSION\/RESOURCE/]);
  t.match(kinds('v1/secrets'), [/is published anyway/]);
  for (const kind of [
    'admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    'tenancy.stonegate.dev/v1alpha1/crosstenantpolicies',
    'v1/tenants',
    'v1/namespaces',
  ])
    t.match(kinds(kind), [/never published/], kind);
  const webhooks = '{ resource: admissionregistration.k8s.io/v1/mutatingwebhookconfigurations, names: "*" }';
  t.match(parse('arktos', `clusterScoped: [${webhooks}]`).problems, [/never published/]);
});

t.test('a pattern has at most one star', async (t) => {
  const names = (pattern: string) =>
    parse('arktos', `clusterScoped: [{ resource: clusterroles, names: "${pattern}" }]`).problems;
  t.same(names('*.example.com'), []);
  t.match(names('a*b*'), [/at most one/]);
  t.match(names(''), [/at most one/]);
  t.match(names('a/b'), [/at most one/]);
});
