import t, { type Test } from 'tap';
import { loadAdmission } from '../../../src/app/configuration.ts';
import { systemSources } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/problem.ts';
import { problemsOfSections } from '../../support/configuration-problems.ts';
import { createAuthority } from '../../support/tls/authority.ts';

function problems(mode: string, admission: string, rest = '') {
  const section = `{ tls: { certFile: c, keyFile: k }, ${admission} }`;
  return problemsOfSections({ tenancy: `{ mode: ${mode} }`, admission: section }, rest);
}

t.test('a version of the Pod Security Standards newer than the API server is refused', async (t) => {
  t.same(problems('arktos', 'podSecurity: { level: baseline }'), []);
  t.match(problems('arktos', 'podSecurity: { version: v1.16 }'), [/expected at most v1\.15/]);
  t.match(problems('shared', 'podSecurity: { level: baseline }'), [
    /podSecurity\.version.*is required with a level/,
  ]);
  t.match(problems('shared', 'podSecurity: { tenants: { acme: { level: restricted } } }'), [
    /podSecurity\.version.*is required/,
  ]);
  t.same(problems('shared', 'podSecurity: { version: v1.33, tenants: { acme: { level: restricted } } }'), []);
  t.match(problems('shared', 'podSecurity: { level: baseline, version: v1.37 }'), [
    /expected at most v1\.36/,
  ]);
  t.match(problems('shared', 'podSecurity: { version: latest }'), [/expected a version such as v1\.36/]);
});

t.test('an address that another listener has is refused', async (t) => {
  t.match(problems('shared', 'bind: "0.0.0.0:8443"'), [/expected another address than server\.bind/]);
  const webhook = 'webhook: { tls: { certFile: c, keyFile: k, clientCAFile: a } }';
  t.match(problems('shared', 'bind: "0.0.0.0:8445"', webhook), [
    /expected another address than webhook\.bind/,
  ]);
});

async function loaded(t: Test, text: string) {
  const { cert, key } = await (await createAuthority()).server('stonegate');
  const folder = t.testdir({ 'tls.crt': cert, 'tls.key': key, 'c.yaml': text });
  const result = await loadAdmission(`${folder}/c.yaml`, systemSources);
  return result.ok ? [] : result.problems.map(formatProblem);
}

const HEAD = 'apiVersion: stonegate.dev/v1alpha1\nkind: StonegateConfiguration\ntenancy: { mode: shared }\n';
const ADMISSION = 'admission: { tls: { certFile: tls.crt, keyFile: tls.key } }\n';

t.test('a process that serves only the webhook', async (t) => {
  await t.test('needs no other section, and reads no files of other sections except upstream', async (t) => {
    t.same(await loaded(t, HEAD + ADMISSION), []);
    const others = 'cache: { redis: { url: { fromFile: not-there } } }\n';
    t.same(await loaded(t, HEAD + ADMISSION + others), []);
    const upstream = 'upstream: { server: "https://u", credential: { tokenFile: not-there } }\n';
    t.match(await loaded(t, HEAD + ADMISSION + upstream), [/^upstream\.credential\.tokenFile/]);
  });

  await t.test('reports what is wrong', async (t) => {
    t.match(await loaded(t, HEAD), [/^admission: is required/]);
    t.match(await loaded(t, `${HEAD}${ADMISSION}admision: {}\n`), [/^admision \(line 5\): is no known key/]);
    t.match(await loaded(t, `${HEAD}admission: { tls: { certFile: tls.crt, keyFile: no.key } }\n`), [
      /^admission\.tls\.keyFile.*expected a file that can be read/,
    ]);
    t.match(await loaded(t, `${HEAD}admission: { tls: { certFile: tls.crt, keyFile: tls.crt } }\n`), [
      /keyFile/,
    ]);
    t.match(await loaded(t, 'a: b: c'), [/is no valid YAML/]);
  });
});
