import t from 'tap';
import { problemsOfSections } from '../../support/configuration-problems.ts';
import { eachRow } from '../../support/rows.ts';

const SERVICE =
  'serviceCredential: { password: { userName: u, userDomainName: d, password: { fromEnv: PW }, scope: { system: true } } }';

function problemsOf(bindings: string, { mode = 'shared', service = SERVICE } = {}) {
  return problemsOfSections({
    tenancy: `{ mode: ${mode} }`,
    authentication: `{ keystone: { url: "https://keystone:5000/v3", ${service} } }`,
    bindings,
  });
}

t.test('the defaults are valid', async (t) => {
  t.same(problemsOf('{}', { service: '' }), []);
  t.same(problemsOf('{ provision: periodic, credential: { tokenFile: provisioner } }'), []);
});

t.test('C235 a format without id and name, or whose result is no namespace name, is refused', async (t) => {
  await eachRow(
    `
    projects | bindings.namespaceFormat (line 7): expected %i or %n
    %d | expected %i or %n
    !@#$%i | which is no DNS-1123 label
    -%i | which is no DNS-1123 label
    %n- | which is no DNS-1123 label
    P-%i | which is no DNS-1123 label
    %i.%n | which is no DNS-1123 label
    %x-%i | found "%x-%i"
    %i% | found "%i%"
    %%i | found "%%i"
    kube-%i | which is reserved
    stonegate-%i | which is reserved
    ${'a'.repeat(63)}%i | which is longer than 63`,
    (format, problem) => t.match(problemsOf(`{ namespaceFormat: "${format}" }`), [problem], format),
  );
  for (const format of ['%i', '%n', 'p-%n-%d', '%n-%i'])
    t.same(problemsOf(`{ namespaceFormat: "${format}" }`), []);
});

t.test('provisioning requires a credential at Keystone and one at the API server', async (t) => {
  for (const provision of ['periodic', 'onRequest']) {
    const problems = problemsOf(`{ provision: ${provision} }`, { service: '' });
    t.match(problems, [
      /authentication\.keystone\.serviceCredential.*is required/,
      /bindings\.credential.*is required/,
    ]);
  }
});

for (const [section, content] of [
  ['publishing', '{ namespaces: [shared] }'],
  ['quota', '{ default: { pods: "10" } }'],
  ['tokens', '{}'],
] as const)
  t.test(`${section} requires a credential of its own at the API server`, async (t) => {
    const problems = problemsOfSections({ tenancy: '{ mode: shared }', [section]: content });
    t.match(problems, [`bindings.credential: is required with ${section}: `]);
  });

t.test('the credential that impersonates must not provision', async (t) =>
  t.match(problemsOf('{ credential: { tokenFile: token } }'), [
    /bindings\.credential.*expected a credential of its own/,
  ]),
);

t.test('the namespace of a project must be a valid name that no other project has', async (t) => {
  t.match(problemsOf('{ projects: { a: { namespace: kube-system }, b: { namespace: Web } } }'), [
    /bindings\.projects\.a\.namespace.*is reserved/,
    /bindings\.projects\.b\.namespace.*is no DNS-1123 label/,
  ]);
  const twins = '{ projects: { a: { namespace: web }, b: { namespace: web } } }';
  t.match(problemsOf(twins), [/bindings\.projects\.b\.namespace.*"web", which another project has/]);
  t.same(problemsOf(twins, { mode: 'arktos' }), [], 'two tenants may each have a namespace of that name');
});

t.test('an invalid role is reported with its own path', async (t) => {
  t.match(problemsOf('{ roles: { member: "stonegate:write" } }'), [
    /bindings\.roles\.member.*stonegate:edit/,
  ]);
  t.match(problemsOf('{ roles: { member: { role: "a/b" } } }'), [/bindings\.roles\.member.*name of a role/]);
  t.match(problemsOf('{ projects: { p: { roles: { member: ".." } } } }'), [
    /bindings\.projects\.p\.roles\.member/,
  ]);
  t.match(problemsOf('{ domains: { d: { roles: { member: "a%2Fb" } } } }'), [
    /bindings\.domains\.d\.roles\.member/,
  ]);
  t.same(problemsOf('{ roles: { member: view, ops: { role: operators } } }'), []);
});

t.test('a storage cluster that does not exist is refused', async (t) => {
  for (const id of ['"64"', '"-1"', '1', '"01"'])
    t.equal(problemsOf(`{ storageClusterID: ${id} }`).length, 1, id);
  for (const id of ['"0"', '"9"', '"63"']) t.same(problemsOf(`{ storageClusterID: ${id} }`), [], id);
});
