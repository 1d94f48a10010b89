import t from 'tap';
import { stringify } from 'yaml';
import { readSync } from '../../../../src/config/keystone-auth/sync-file.ts';

function problemsOf(document: unknown): readonly string[] {
  const read = readSync(stringify(document));
  return read.ok ? [] : read.problems;
}

t.test('a file of k8s-keystone-auth is read as it is', async (t) => {
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
  t.same(read, {
    ok: true,
    value: {
      projects: true,
      roleAssignments: true,
      namespaceFormat: 'prefix-%d-%n-%i-suffix',
      ignoredProjects: new Set(['id1']),
      ignoredProjectNames: new Set(['name1']),
      roleMappings: [
        { role: 'member', username: 'myuser', groups: ['mygroup'] },
        { role: 'reader', groups: [] },
      ],
    },
  });
});

t.test('an empty one does nothing', async (t) => {
  t.match(readSync(''), {
    ok: true,
    value: { projects: false, roleAssignments: false, namespaceFormat: '%i', roleMappings: [] },
  });
});

for (const format of ['%n', '!@#$%i', '-%i', '%i-', 'My-%i', 'a_%i', '%i.%n', '']) {
  t.test(`C235 the namespace format ${JSON.stringify(format)} is refused`, async (t) => {
    t.match(problemsOf({ 'namespace-format': format }), [/^namespace-format: expected a format with %i/]);
  });
}

t.test('other data types, unknown keys and bad YAML are problems with their place', async (t) => {
  t.match(problemsOf({ 'data-types-to-sync': ['users'] }), [/^data-types-to-sync\[0\]: expected "projects"/]);
  t.match(problemsOf({ 'project-blacklist': [] }), [/is no known key/]);
  t.match(readSync('a: [').ok, false);
});

t.test('nobody is mapped to what the cluster keeps for itself', async (t) => {
  const mapping = { 'keystone-role': 'admin', groups: ['system:masters'], username: 'system:admin' };
  t.match(problemsOf({ 'role-mappings': [mapping] }), [/username.*reserved/s, /groups\[0\].*reserved/s]);
});

t.test('a key written twice is a problem, and so is one that no document needs', async (t) => {
  const repeated = readSync('namespace-format: "%i"\nnamespace-format: "x%i"\n');
  t.match(repeated, { ok: false, problems: [/line 2.*unique/] });
  t.match(readSync('__proto__: { projects-blacklist: [a] }\n'), {
    ok: false,
    problems: [/may not be a key/],
  });
});
