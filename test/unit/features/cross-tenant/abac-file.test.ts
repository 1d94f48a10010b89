import { readFileSync } from 'node:fs';
import t from 'tap';
import { createPolicySet } from '../../../../src/features/cross-tenant/policy-set.ts';
import {
  ALICE_READS_PODS,
  abacLine,
  abacPolicies,
  attributes,
  entry,
  NOW,
  readAbacFile,
  resolvedPolicies,
} from '../../../support/policies.ts';
import { rule } from '../../../support/policy-rule.ts';
import { eachRow } from '../../../support/rows.ts';

/** Asks about a request under the policies of these lines. */
function permitted(...specs: readonly Readonly<Record<string, unknown>>[]) {
  const set = createPolicySet(resolvedPolicies({ abac: abacPolicies(...specs) }).policies);
  return (who: ReturnType<typeof entry>, ...what: Parameters<typeof attributes>) =>
    set.permits(who, attributes(...what), NOW) !== undefined;
}

/** The problems of a line with these fields changed; undefined leaves a field out. */
function problemsOf(changes: Readonly<Record<string, unknown>>): string[] {
  const spec = Object.fromEntries(
    Object.entries({ ...ALICE_READS_PODS, ...changes }).filter(([, value]) => value !== undefined),
  );
  return readAbacFile(abacLine(spec)).problems.map(
    ({ path, line, message }) => `${path} (line ${line}): ${message}`,
  );
}

const events = { ...ALICE_READS_PODS, user: '*', resource: 'events' };

t.test('D301 a read-only line for every user lets users read, not update', async (t) => {
  const may = permitted(events);
  for (const verb of ['get', 'list', 'watch']) t.ok(may(entry('chuck'), verb, 'events'), verb);
  for (const verb of ['create', 'update', 'patch', 'delete'])
    t.notOk(may(entry('chuck'), verb, 'events'), verb);
});

t.test('D302 neither user * nor group * lets in users of no tenant, or of another one', async (t) => {
  const { user: _, ...withoutUser } = ALICE_READS_PODS;
  for (const spec of [events, { ...withoutUser, group: '*' }]) {
    const may = permitted(spec);
    t.ok(may(entry('chuck'), 'get', spec.resource));
    const other = entry('system:anonymous', { home: 'initech', groups: ['system:unauthenticated'] });
    t.notOk(may(other, 'get', spec.resource));
  }
  t.not(readAbacFile(abacLine(withoutUser)).problems.length, 0);
});

t.test('D303 a user is matched by the whole name in the same case', async (t) => {
  const may = permitted({ ...ALICE_READS_PODS, user: 'Foo' });
  for (const name of ['foo', 'FooBar', 'acme:Foo', '*']) t.notOk(may(entry(name), 'get', 'pods'), name);
  t.ok(may(entry('Foo'), 'get', 'pods'));
});

t.test('D305 a * that disables another condition is refused', async (t) => {
  for (const spec of [
    { user: 'alice', group: '*' },
    { user: '*', group: 'devs' },
    { user: '*', group: '*' },
  ])
    t.match(problemsOf(spec), [/^spec \(line 1\): expected user or group alone if it is \*/]);
});

t.test('D306 a line with neither user nor group, or without another field, is refused', async (t) => {
  t.match(problemsOf({ user: undefined }), [/^spec \(line 1\): expected user, group, or both/]);
  for (const field of ['name', 'tenant', 'space', 'namespace', 'apiGroup', 'resource', 'readonly'])
    t.match(problemsOf({ [field]: undefined }), [`spec.${field} (line 1): is required`], field);
});

t.test('D307 a line without apiVersion and kind is refused', async (t) => {
  const { problems } = readAbacFile('{"user":"bob","readonly":true,"nonResourcePath":"*"}');
  t.match(problems, [
    { path: '', line: 1, message: /^expected apiVersion .* found neither: .* everything$/ },
  ]);
  const versions = [{ apiVersion: 'v1' }, { kind: 'policy' }, { apiVersion: 'v1', kind: 'Policy' }];
  for (const given of versions)
    t.not(readAbacFile(JSON.stringify({ ...given, spec: ALICE_READS_PODS })).problems.length, 0);
});

t.test(
  'D309 a line for one namespace allows requests in it alone, not lists of all namespaces',
  async (t) => {
    const may = permitted({ ...ALICE_READS_PODS, namespace: 'caribou', resource: '*' });
    for (const namespace of ['caribou', 'ns1', ''])
      t.equal(may(entry('alice'), 'list', 'pods', { namespace }), namespace === 'caribou', namespace);
  },
);

t.test(
  'D310 an empty API group is the core group, a name that group, and * all that policies may grant',
  async (t) => {
    const ask = (apiGroup: string, asked: string) =>
      permitted({ ...ALICE_READS_PODS, apiGroup, resource: '*' })(entry('alice'), 'get', 'deployments', {
        apiGroup: asked,
      });
    t.notOk(ask('', 'apps'));
    t.ok(ask('apps', 'apps'));
    t.ok(ask('*', 'apps'));
    t.notOk(ask('*', 'other.example.com'));
  },
);

t.test('D311 nonResourcePath is refused: policies are about resources', async (t) => {
  t.match(problemsOf({ nonResourcePath: '/root/*' }), [
    /^spec\.nonResourcePath \(line 1\): expected no paths/,
  ]);
});

t.test('D313 a resource does not include its subresources', async (t) => {
  const pods = permitted({ ...ALICE_READS_PODS, readonly: false });
  t.ok(pods(entry('alice'), 'create', 'pods'));
  for (const full of ['pods/exec', 'pods/status', 'pods/ephemeralcontainers', 'pods/log'])
    t.notOk(pods(entry('alice'), 'create', full), full);
  const exec = permitted({ ...ALICE_READS_PODS, resource: 'pods/exec', readonly: false });
  t.ok(exec(entry('alice'), 'create', 'pods/exec'));
  t.notOk(exec(entry('alice'), 'create', 'pods'));
});

t.test('D314 comments, blank lines and a missing line break at the end are accepted', async (t) => {
  const text = `# a comment\n\n  \t\r\n${abacLine()}\r\n   # another\n${abacLine({ ...ALICE_READS_PODS, name: 'two' })}`;
  const { policies, problems } = readAbacFile(text);
  t.same(problems, []);
  t.match(policies, [
    { name: 'alice-pods', source: /line 4$/ },
    { name: 'two', source: /line 6$/ },
  ]);
  for (const empty of ['', '\n', '#', '# only\n'])
    t.same(readAbacFile(empty), { policies: [], problems: [] }, JSON.stringify(empty));
});

t.test('a line must name two tenants, and no user may enter the system tenant', async (t) => {
  for (const space of ['system', 'all', '*', 'acme', 'Globex'])
    t.match(problemsOf({ space }), [/^spec\.space \(line 1\): expected /], space);
  for (const tenant of ['*', 'Acme'])
    t.match(problemsOf({ tenant }), [/^spec\.tenant \(line 1\): expected /], tenant);
  t.same(problemsOf({ tenant: 'system' }), [], 'users of the system tenant may enter another');
});

const INVALID = `
  user      | "system:admin" | "guest:initech:bob" | ""
  group     | "system:authenticated" | "stonegate:guest"
  namespace | "" | "kube-*"
  apiGroup  | "*.io" | "apps/v1"
  resource  | "" | "pods/*" | "p*" | "a/b/c"
  name      | "a.b" | "${'x'.repeat(64)}"`;

t.test('names that no user, group, namespace or kind can have are refused', async (t) => {
  await eachRow(INVALID, (field, ...values) => {
    for (const value of values) {
      const problems = problemsOf({ user: undefined, group: 'g', [field]: JSON.parse(value) });
      t.match(problems, [`spec.${field} (line 1): `], value);
    }
  });
  t.same(problemsOf({ user: undefined, group: 'keystone:group:abc' }), []);
});

t.test('a line that selects nothing that policies may grant is refused', async (t) => {
  for (const changes of [
    { resource: 'nodes' },
    { resource: '*', apiGroup: 'rbac.authorization.k8s.io' },
    { resource: 'crosstenantpolicies', apiGroup: 'tenancy.stonegate.dev' },
  ])
    t.match(problemsOf(changes), [/^spec\.resource \(line 1\): expected something that policies may grant/]);
});

t.test('a resource that opens connections cannot be read-only', async (t) => {
  for (const resource of ['pods/exec', 'services/proxy']) {
    t.match(problemsOf({ resource }), [/^spec\.readonly \(line 1\): expected false/], resource);
    t.same(problemsOf({ resource, readonly: false }), [], resource);
  }
});

t.test('text that is not a strict JSON object is refused', async (t) => {
  const double = abacLine().replace('"user":"alice"', '"user":"alice","user":"*"');
  for (const [text, message] of [
    [double, /a key occurs twice/],
    [abacLine().slice(0, -1), /not JSON/],
    ['[]', /expected a mapping/],
    [abacLine().replace('"spec"', '"extra":{},"spec"'), /is no known key/],
  ] as const)
    t.match(readAbacFile(text), { policies: { length: 0 }, problems: [{ line: 1, message }] }, text);
});

t.test('lines and files have a maximum length', async (t) => {
  const long = `${abacLine()}${' '.repeat(5_000)}`;
  t.match(readAbacFile(long).problems, [{ line: 1, message: /^expected at most 4096 bytes/ }]);
  t.same(readAbacFile(`#${' '.repeat(5_000)}`).problems, [], 'a comment may be long');
  t.match(readAbacFile('\n'.repeat(10_001)).problems, [{ message: /^expected at most 10000 lines/ }]);
});

t.test('two lines with the same name are refused, and every problem is reported with its line', async (t) => {
  const { policies, problems } = readAbacFile(
    [abacLine(), '{', abacLine(), abacLine({ ...ALICE_READS_PODS, name: 'x', space: 'all' })].join('\n'),
  );
  t.same(policies, []);
  t.match(problems, [
    { line: 2, column: 2, message: /JSON/ },
    { line: 3, path: 'spec.name', message: /^expected a name of its own, .* line 1$/ },
    { line: 4, path: 'spec.space' },
  ]);
});

t.test('access.grantable widens what * selects, except secrets of any group', async (t) => {
  const grantable = [rule('get,use', 'widgets,secrets,widgets/proxy', 'example.com')];
  const line = abacLine({ ...ALICE_READS_PODS, apiGroup: 'example.com', resource: '*', readonly: false });
  t.same(readAbacFile(line, grantable).policies[0]?.rules, [rule('get', 'widgets', 'example.com')]);
});

t.test('the sample file is valid', async (t) => {
  const { policies, problems } = readAbacFile(
    readFileSync('config/samples/cross-tenant-policies.jsonl', 'utf8'),
  );
  t.same(problems, []);
  t.equal(policies.length, 3);
});
