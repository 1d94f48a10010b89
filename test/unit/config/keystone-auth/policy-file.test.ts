import t from 'tap';
import { readPolicy } from '../../../../src/config/keystone-auth/policy-file.ts';

function problemsOf(document: unknown): readonly string[] {
  const read = readPolicy(typeof document === 'string' ? document : JSON.stringify(document));
  return read.ok ? [] : read.problems;
}

const RESOURCE = { verbs: ['get'], resources: ['pods'], version: '*', namespace: 'default' };

t.test('both versions are read, mixed too', async (t) => {
  t.same(
    problemsOf([
      { resource: RESOURCE, match: [{ type: 'role', values: ['member'] }] },
      { nonresource: { verbs: ['get'], path: '/api/*' }, match: [] },
      {
        users: { roles: ['developer'], projects: ['demo'] },
        resource_permissions: { 'default/pods': ['get'], "!kube-system/!['secrets', 'clusterroles']": ['*'] },
        nonresource_permissions: { '/healthz': ['get'] },
        resource: null,
      },
    ]),
    [],
  );
});

t.test('C226 a resource without version or namespace is a problem with its place', async (t) => {
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

for (const key of [
  'pods',
  '/pods',
  'default/',
  'default/[pods]',
  "['a'/pods",
  'a/pods/log/x',
  '!/pods',
  "a/['b'",
]) {
  t.test(`the key ${key} is a problem with its place`, async (t) => {
    t.match(problemsOf([{ resource_permissions: { [key]: ['get'] } }]), [/^\[0\]\.resource_permissions/]);
  });
}

t.test('what is no list in JSON is one problem', async (t) => {
  t.same(problemsOf('[{'), ['is no JSON']);
  t.match(problemsOf({}), [/expected a list/]);
});

t.test('a key written twice is a problem with its place, wherever it stands', async (t) => {
  const users = '"users": {"roles": ["member"], "projects": ["web"]}';
  const permissions = '"resource_permissions": {"default/pods": ["get"]}';
  for (const [document, problem] of [
    [`[{}, {${users}, ${permissions}, ${users}}]`, '[1].users: is written twice'],
    [
      `[{${users}, ${permissions}, "resource\\u005fpermissions": {}}]`,
      '[0].resource_permissions: is written twice',
    ],
    ['[{"users": {"roles": ["a"], "roles" : ["b"]}}]', '[0].users.roles: is written twice'],
    [
      '[{"resource_permissions": {"default/pods": ["get"], "default/pods": ["*"]}}]',
      '[0].resource_permissions["default/pods"]: is written twice',
    ],
    ['[{"match": [{}, {"type": "a", "type": "b"}]}]', '[0].match[1].type: is written twice'],
    [`[{"__proto__": {"users": null}, ${permissions}}]`, '[0].__proto__: may not be a key'],
    [
      '[{"nonresource_permissions": {"__proto__": ["get"]}}]',
      '[0].nonresource_permissions.__proto__: may not be a key',
    ],
  ] as const)
    t.same(problemsOf(document), [problem], document);
  t.same(
    problemsOf('[{"resource_permissions": {"Default/Pods": ["*"], "default/pods": ["get"]}}]'),
    [
      '[0].resource_permissions["default/pods"]: expected a key that is not written twice, in whichever case, found "default/pods"',
    ],
    'case makes no difference where requests are matched',
  );
});

t.test('what only looks like a key written twice is none', async (t) => {
  const paths = { '/a': ['get'], '/A': ['get'], '{"/a":': ['get'], '/a\\"': ['"', '/a', '/a'] };
  t.same(problemsOf([{ nonresource_permissions: paths }, { nonresource_permissions: paths }]), []);
});

t.test('an empty key is reported with what was expected', async (t) => {
  t.same(problemsOf([{ resource_permissions: { pods: ['get'] } }]), [
    '[0].resource_permissions.pods: expected NAMESPACE/RESOURCE, found "pods"',
  ]);
});
