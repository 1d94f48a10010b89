/**
 * Every kubectl of this machine at the newest supported kube-apiserver: through Stonegate it works as
 * directly.
 */
import t from 'tap';
import { findAllKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { addSilentNode, compareKubectl } from '../support/kubernetes/kubectl-comparison.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { startKubernetesSite } from '../support/kubernetes/site.ts';

const binaries = findAllKubectls();
const missing = missingKubernetes() || (binaries.length === 0 && NO_KUBECTL);

t.test('kubectl at a kube-apiserver', { skip: missing }, async (t) => {
  const site = await startKubernetesSite(t);
  await addSilentNode(site);
  for (const [index, binary] of binaries.entries()) {
    const extent = index === 0 || index === binaries.length - 1 ? 'whole' : 'brief';
    await t.test(`${binary.split('/').at(-1)}`, (t) => compareKubectl(t, site, binary, extent));
  }
});
