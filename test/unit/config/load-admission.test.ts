import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadAdmission, systemSources } from '../../../src/config/load.ts';
import { createAuthority } from '../../support/tls/authority.ts';

async function load(t: Test, sections: string, files: Readonly<Record<string, string>> = {}) {
  const served = await (await createAuthority()).server('stonegate');
  const folder = t.testdir({
    ...files,
    'tls.crt': served.cert,
    'tls.key': served.key,
    'c.yaml': `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
tenancy: { mode: arktos }
admission: { tls: { certFile: tls.crt, keyFile: tls.key } }
${sections}`,
  });
  const result = await loadAdmission(join(folder, 'c.yaml'), systemSources);
  return result.ok ? result.loaded.configuration : result.problems.map(({ path }) => path);
}

const UPSTREAM = `upstream:
  server: https://api.example.com:6443
  credential: { tokenFile: token }
`;

t.test('a process with the admission webhook alone needs no credential', async (t) => {
  t.notOk('upstream' in (await load(t, '')));
  t.notOk('upstream' in (await load(t, 'server: { tls: { certFile: no.crt, keyFile: no.key } }')));
});

t.test('with upstream its credential is read, and must be there', async (t) => {
  t.match(await load(t, UPSTREAM, { token: 'secret' }), {
    upstream: { server: 'https://api.example.com:6443' },
  });
  t.same(await load(t, UPSTREAM), ['upstream.credential.tokenFile']);
  t.same(await load(t, 'upstream: { server: "http://api.example.com" }', {}), [
    'upstream.server',
    'upstream.credential',
  ]);
});

t.test('what is published is read', async (t) => {
  t.match(await load(t, 'publishing: { namespaces: [shared] }'), { publishing: { namespaces: ['shared'] } });
});
