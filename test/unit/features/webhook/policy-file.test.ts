import t from 'tap';
import { parse } from 'yaml';
import { formatProblem } from '../../../../src/config/problem.ts';
import { readPolicy } from '../../../../src/features/webhook/policy-file.ts';

function problemsOf(document: unknown): readonly string[] {
  const read = readPolicy(typeof document === 'string' ? document : JSON.stringify(document));
  return read.ok ? [] : read.problems.map(formatProblem);
}

const RESOURCE = { verbs: ['get'], resources: ['pods'], version: '*', namespace: 'default' };

t.test('both versions are read, also mixed', async (t) => {
  t.same(
    problemsOf(
      parse(`
      - {resource: {verbs: [get], resources: [pods], version: '*', namespace: default}, match: [{type: role, values: [member]}]}
      - {nonresource: {verbs: [get], path: '/api/*'}, match: []}
      - users: {roles: [developer], projects: [demo]}
        resource_permissions: {default/pods: [get], "!kube-system/!['secrets', 'clusterroles']": ['*']}
        nonresource_permissions: {/healthz: [get]}
        resource: null`),
    ),
    [],
  );
});

t.test('C226 a resource without version or namespace is reported with its place', async (t) => {
  const { version: _version, ...withoutVersion } = RESOURCE;
  const { namespace: _namespace, ...withoutNamespace } = RESOURCE;
  t.same(problemsOf([{ resource: RESOURCE }, { resource: withoutVersion }, { resource: withoutNamespace }]), [
    '[1].resource.version: is required: expected a string',
    '[2].resource.namespace: is required: expected a string',
  ]);
});

t.test('unknown keys are problems: they may be mistyped restrictions', async (t) => {
  t.same(problemsOf([{ user: { roles: ['admin'] }, resource_permissions: { '*/*': ['*'] } }]), [
    '[0].user: is no known key',
  ]);
});

t.test('a permission whose key has no known form is reported with its place', async (t) => {
  for (const key of ['pods', "['a'/pods", "['a',1]/pods", "['a','b!']/pods", 'a/pods/log/x'])
    t.match(
      problemsOf([{ resource_permissions: { [key]: ['get'] } }]),
      [/^\[0\]\.resource_permissions/],
      key,
    );
});

t.test('a file that is not a JSON list is one problem', async (t) => {
  t.same(problemsOf('[{'), ['the configuration (line 1, column 3): is no usable JSON: it is not JSON']);
  t.match(problemsOf({}), [/expected a list/]);
});

t.test('a key written twice is a problem, wherever it stands', async (t) => {
  const users = '"users": {"roles": ["member"], "projects": ["web"]}';
  const permissions = '"resource_permissions": {"default/pods": ["get"]}';
  for (const document of [
    `[{}, {${users}, ${permissions}, ${users}}]`,
    '[{"resource_permissions": {"default/pods": ["get"], "default/pods": ["*"]}}]',
  ])
    t.same(
      problemsOf(document),
      ['the configuration: is no usable JSON: a key occurs twice in one object'],
      document,
    );
  t.match(problemsOf(`[{"__proto__": {"users": null}, ${permissions}}]`), [/__proto__/]);
  t.same(
    problemsOf('[{"resource_permissions": {"Default/Pods": ["*"], "default/pods": ["get"]}}]'),
    [
      '[0].resource_permissions["default/pods"]: expected a key that is not written twice, in whichever case, found "default/pods"',
    ],
    'case makes no difference where requests are matched',
  );
});
