import t from 'tap';
import { configurationWarnings } from '../../../src/app/configuration.ts';
import { parseSections, problemsOfSections } from '../../support/configuration-problems.ts';

const SHARED = { tenancy: '{ mode: shared }' };
const problemsOf = (more: string) => problemsOfSections(SHARED, more);

function warningsOf(more: string) {
  const { configuration } = parseSections(SHARED, more);
  return configuration && configurationWarnings(configuration);
}

t.test('settings that need the index are refused without it', async (t) =>
  t.same(
    problemsOf(`access:
  authorizers: [Node, RBAC]
  verifyOneIn: 1
  selfReviews: all
  maxNamespaces: 10
  namedSets: [{ name: managed, verb: create, apiGroup: view.example.com, resource: managedclusterviews }]
  maxIndexBytes: 1
authorization: { hideForbidden: true }`),
    [
      'access.authorizers (line 8)',
      'access.namedSets (line 12)',
      'authorization.hideForbidden (line 14)',
    ].map((place) => `${place}: has no effect without the index: expected access.index to be true`),
  ),
);

t.test('the configured authorization modes must include RBAC', async (t) => {
  const stated = (modes: string) => problemsOf(`access: { index: true, authorizers: ${modes} }`);
  t.same(stated('[Node, RBAC]'), []);
  t.same(stated('[Node, RBAC, Webhook]'), []);
  t.match(stated('[Node]'), [/access\.authorizers .*expected RBAC among them/]);
  t.match(stated('[rbac]'), [/access\.authorizers\[0\] .*expected "Node" or "RBAC"/]);
});

t.test('hideForbidden is refused unless RBAC alone decides who may read objects', async (t) => {
  const hiding = (access: string) => problemsOf(`access: ${access}\nauthorization: { hideForbidden: true }`);
  for (const modes of ['[Node, RBAC]', '[RBAC]'])
    t.same(hiding(`{ index: true, authorizers: ${modes} }`), []);
  for (const access of [
    '{ index: true }',
    '{ index: true, authorizers: [Node, RBAC, Webhook] }',
    '{ index: true, authorizers: [ABAC, RBAC] }',
  ])
    t.match(hiding(access), [
      /authorization\.hideForbidden .*expected access\.authorizers to state \[Node, RBAC\]/,
    ]);
});

t.test('each named set has a unique name, and a verb and a resource of RBAC', async (t) => {
  const sets = (text: string) => problemsOf(`access: { index: true, namedSets: [${text}] }`);
  const managed =
    '{ name: managed, verb: create, apiGroup: view.example.com, resource: managedclusterviews }';
  t.same(sets(`${managed}, { name: logs, verb: get, resource: pods, subresource: log }`), []);
  t.match(sets(`${managed}, ${managed}`), [
    /namedSets\[1\]\.name .*expected each name once, found managed again/,
  ]);
  t.match(sets('{ name: Logs, verb: get, resource: pods }'), [/name .*expected a DNS-1123 label/]);
  t.match(sets('{ name: logs, verb: "*", resource: pods }'), [/verb .*expected a verb/]);
  t.match(sets('{ name: logs, verb: get, resource: pods/log }'), [/resource .*expected a resource/]);
  t.match(sets('{ verb: get, resource: pods }'), [/name .*is required/]);
});

t.test('an index that filters no list causes a warning', async (t) => {
  const warnings = (access: string) => warningsOf(`access: { index: true, ${access} }`);
  t.match(warnings(''), [{ path: 'access.authorizers', message: /not filtered: state \[Node, RBAC\]/ }]);
  const others = 'authorizers: [Node, Webhook, RBAC]';
  t.match(warnings(others), [{ message: /othersNeverDeny/ }]);
  t.same(warnings(`${others}, othersNeverDeny: true`), []);
  t.same(warnings('authorizers: [Node, RBAC]'), []);
  t.same(warningsOf(''), []);
});

t.test('access tokens whose scope of the whole tenant covers nothing cause a warning', async (t) => {
  const tokens = 'bindings: { credential: { tokenFile: token } }\ntokens: {}\n';
  const isWarned = (more: string, sections = SHARED) => {
    const { configuration } = parseSections(sections, more);
    if (configuration === undefined) throw new Error('it is not valid');
    return configurationWarnings(configuration).some(({ path }) => path === 'access.index');
  };
  t.ok(isWarned(tokens));
  t.notOk(isWarned(`${tokens}access: { index: true }`));
  t.notOk(isWarned(tokens, { tenancy: '{ mode: arktos }' }));
});

t.test('access tokens that Keystone users cannot create cause a warning', async (t) => {
  const credential = 'bindings: { credential: { tokenFile: token } }';
  const warned = warningsOf(`${credential}\ntokens: {}\naccess: { index: true, authorizers: [RBAC] }`);
  t.match(warned, [{ path: 'authentication.keystone.roleAssignments' }]);
  t.same(warningsOf(credential), []);
});
