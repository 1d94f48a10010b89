import t from 'tap';
import { readExecInfo } from '../../../../src/cli/login/exec-credential.ts';

const V1 = 'client.authentication.k8s.io/v1';
const V1BETA1 = 'client.authentication.k8s.io/v1beta1';
const info = (fields: object) => JSON.stringify({ kind: 'ExecCredential', apiVersion: V1, ...fields });

t.test(
  'the version is the one that kubectl requests, and prompts are allowed unless kubectl forbids them',
  async (t) => {
    for (const [text, apiVersion, mayAsk] of [
      [undefined, V1, true],
      [info({}), V1, true],
      [info({ apiVersion: V1BETA1, spec: {} }), V1BETA1, true],
      [info({ spec: { interactive: false } }), V1, false],
    ] as const)
      t.same(readExecInfo(text), { apiVersion, mayAsk }, String(text));
  },
);

t.test('anything but an ExecCredential of a known version is refused', async (t) => {
  for (const text of ['{', info({ kind: 'TokenReview' })])
    t.throws(() => readExecInfo(text), { message: /no ExecCredential/ });
  t.throws(() => readExecInfo(info({ apiVersion: 'client.authentication.k8s.io/v1alpha1' })), {
    message: /v1alpha1.*speaks .*v1 and .*v1beta1.*kubeconfig/,
  });
});
