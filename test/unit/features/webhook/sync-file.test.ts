import t from 'tap';
import { parse, stringify } from 'yaml';
import { parseStonegate } from '../../../../src/app/configuration.ts';
import { formatProblem } from '../../../../src/config/problem.ts';
import { checkWebhookFiles, readSync } from '../../../../src/features/webhook/sync-file.ts';
import { TENANCY_FACTS } from '../../../../src/tenancy/facts.ts';

function problemsOf(document: unknown): readonly string[] {
  const read = readSync(stringify(document));
  return read.ok ? [] : read.problems.map(formatProblem);
}

t.test('a file of k8s-keystone-auth is read without changes', async (t) => {
  const read = readSync(`
data-types-to-sync: ["projects", "role_assignments"]
namespace-format: "prefix-%d-%n-%i-suffix"
projects-blacklist: ["id1"]
projects-name-blacklist: ["name1"]
role-mappings:
  - keystone-role: member
    username: myuser
    groups: ["mygroup"]
  - keystone-role: reader
`);
  const value = parse(`
    projects: true
    roleAssignments: true
    namespaceFormat: prefix-%d-%n-%i-suffix
    roleMappings: [{role: member, username: myuser, groups: [mygroup]}, {role: reader, groups: []}]`);
  const ignored = { ignoredProjects: new Set(['id1']), ignoredProjectNames: new Set(['name1']) };
  t.same(read, { ok: true, value: { ...value, ...ignored } });
});

t.test('C235 a namespace format without the id, or with other characters, is refused', async (t) => {
  for (const format of ['%n', '-%i', '%i-', 'a_%i'])
    t.match(
      problemsOf({ 'namespace-format': format }),
      [/^namespace-format: expected a format with %i/],
      format,
    );
});

t.test('other data types, unknown keys and bad YAML are reported with their place', async (t) => {
  t.match(problemsOf({ 'data-types-to-sync': ['users'] }), [/^data-types-to-sync\[0\]: expected "projects"/]);
  t.match(problemsOf({ 'project-blacklist': [] }), [/is no known key/]);
  t.match(readSync('a: [').ok, false);
});

t.test('no user is mapped to a reserved name', async (t) => {
  const mapping = { 'keystone-role': 'admin', groups: ['system:masters'], username: 'system:admin' };
  t.match(problemsOf({ 'role-mappings': [mapping] }), [/username.*reserved/s, /groups\[0\].*reserved/s]);
});

t.test('a key written twice is a problem, and so is __proto__', async (t) => {
  const repeated = readSync('namespace-format: "%i"\nnamespace-format: "x%i"\n');
  t.match(repeated, { ok: false, problems: [{ line: 2, message: /unique/ }] });
  t.match(readSync('__proto__: { projects-blacklist: [a] }\n'), {
    ok: false,
    problems: [{ message: /may not be a key/ }],
  });
});

function parsed(webhook: string, others = '') {
  const { configuration, problems } = parseStonegate(
    `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { bind: "127.0.0.1:1", tls: { certFile: c, keyFile: k } }
upstream: { server: "https://10.0.0.1:6443", credential: { tokenFile: token } }
tenancy: { mode: shared }
authentication: { keystone: { url: "https://keystone:5000/v3" } }
webhook: { tls: { certFile: c, keyFile: k, clientCAFile: a }, ${webhook} }
${others}`,
    '/',
  );
  return { configuration, problems: problems.map(formatProblem) };
}

function filesProblems(webhook: string, content: string, others = ''): string[] {
  const { configuration, problems } = parsed(webhook, others);
  if (configuration === undefined) throw new Error(problems.join('\n'));
  return checkWebhookFiles(configuration, () => Buffer.from(content)).map(
    ({ path, elsewhere }) => `${path.join('.')}: ${elsewhere && formatProblem(elsewhere)}`,
  );
}

t.test('every problem of a policy file is reported with its place in both files', async (t) => {
  t.same(filesProblems('policy: { file: p }', '[{"resource":{"version":"*"}},{"users":[]}]'), [
    'webhook.policy.file: p: [0].resource.namespace: is required: expected a string',
    'webhook.policy.file: p: [1].users: expected a mapping, found an empty list',
  ]);
});

t.test('a sync file that creates objects requires a credential for it', async (t) => {
  const sync = 'sync: { file: s }';
  const content = 'data-types-to-sync: [projects]';
  t.match(filesProblems(sync, content), [
    /^webhook.sync.file: s: data-types-to-sync: needs bindings.credential/,
  ]);
  t.same(filesProblems(sync, content, 'bindings: { credential: { tokenFile: other } }'), []);
  t.same(filesProblems(sync, 'namespace-format: "%i"'), []);
});

t.test('in arktos mode no user is mapped to a bare name, which contains no tenant', async (t) => {
  const { configuration } = parsed('sync: { file: s }');
  if (configuration === undefined) throw new Error('no configuration');
  const arktos = { ...configuration, tenancy: { ...configuration.tenancy, facts: TENANCY_FACTS.arktos } };
  const problems = (mapping: string) =>
    checkWebhookFiles(arktos, () => Buffer.from(`role-mappings: [{ keystone-role: r, ${mapping} }]`));
  t.match(problems('username: u'), [
    { message: /expected no username/, elsewhere: { path: 'role-mappings' } },
  ]);
  t.same(problems('groups: [g]'), []);
});

t.test('a source is either a file or a ConfigMap', async (t) => {
  for (const source of ['{}', '{ file: p, configMap: { name: p } }'])
    t.match(parsed(`policy: ${source}`).problems, [/webhook.policy.*exactly one of/]);
});

t.test('the address of the webhook must differ from that of every other listener', async (t) => {
  t.match(parsed('bind: "127.0.0.1:1"').problems, [/webhook.bind.*another address than server.bind/]);
});

t.test('the webhook validates Keystone’s tokens, so Keystone must be configured', async (t) => {
  const text = `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: c, keyFile: k } }
upstream: { server: "https://10.0.0.1:6443", credential: { tokenFile: token } }
tenancy: { mode: arktos }
authentication: { tokenFile: { file: users } }
webhook: { usernames: legacy, tls: { certFile: c, keyFile: k, clientCAFile: a } }
`;
  const problems = parseStonegate(text, '/').problems.map(formatProblem);
  t.match(problems.join('\n'), /authentication\.keystone.*is required with webhook/);
  t.match(
    problems.join('\n'),
    /webhook.usernames.*expected qualified: in arktos mode/,
    'a bare name has no tenant',
  );
});
