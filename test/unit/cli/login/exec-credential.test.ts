import t from 'tap';
import { readExecInfo, writeExecCredential } from '../../../../src/cli/login/exec-credential.ts';

const V1 = 'client.authentication.k8s.io/v1';
const V1BETA1 = 'client.authentication.k8s.io/v1beta1';
const info = (fields: object) => JSON.stringify({ kind: 'ExecCredential', apiVersion: V1, ...fields });

t.test('without KUBERNETES_EXEC_INFO the version is v1, and the user may be asked', async (t) => {
  t.same(readExecInfo(undefined), { apiVersion: V1, mayAsk: true });
  t.same(readExecInfo(''), { apiVersion: V1, mayAsk: true });
});

for (const apiVersion of [V1, V1BETA1]) {
  t.test(`${apiVersion} is answered in ${apiVersion}`, async (t) => {
    const asked = readExecInfo(info({ apiVersion, spec: { interactive: true } }));
    t.same(asked, { apiVersion, mayAsk: true });
    const text = writeExecCredential(asked.apiVersion, { token: 'abc', expiresAt: Date.UTC(2026, 0, 2) });
    t.same(JSON.parse(text), {
      kind: 'ExecCredential',
      apiVersion,
      status: { token: 'abc', expirationTimestamp: '2026-01-02T00:00:00.000Z' },
    });
  });
}

t.test('kubectl may forbid questions', async (t) => {
  t.equal(readExecInfo(info({ spec: { interactive: false } })).mayAsk, false);
});

t.test('an older kubectl says nothing of it', async (t) => {
  t.equal(readExecInfo(info({ spec: {} })).mayAsk, true);
  t.equal(readExecInfo(info({})).mayAsk, true);
});

t.test('a version unknown here is refused, with where it stands', async (t) => {
  const apiVersion = 'client.authentication.k8s.io/v1alpha1';
  t.throws(() => readExecInfo(info({ apiVersion })), {
    message: /v1alpha1.*speaks .*v1 and .*v1beta1.*kubeconfig/,
  });
});

t.test('what is no ExecCredential is refused', async (t) => {
  for (const text of ['{', '[]', '7', 'null'])
    t.throws(() => readExecInfo(text), { message: /no JSON object/ });
  t.throws(() => readExecInfo(info({ kind: 'TokenReview' })), { message: /no ExecCredential/ });
});
