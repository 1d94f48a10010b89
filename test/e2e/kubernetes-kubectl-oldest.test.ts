/**
 * The oldest and the newest kubectl at the oldest supported kube-apiserver: through Stonegate it works as
 * directly.
 */
import t from 'tap';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { addSilentNode, compareKubectl } from '../support/kubernetes/kubectl-comparison.ts';
import { missingKubernetes, OLDEST } from '../support/kubernetes/programs.ts';
import { startKubernetesSite } from '../support/kubernetes/site.ts';

const binaries = findKubectls();
const missing = missingKubernetes(OLDEST) || (binaries.length === 0 && NO_KUBECTL);

t.test(`kubectl at a kube-apiserver of ${OLDEST}`, { skip: missing }, async (t) => {
  const site = await startKubernetesSite(t, { release: OLDEST });
  await addSilentNode(site);
  for (const binary of binaries)
    await t.test(`${binary.split('/').at(-1)}`, (t) => compareKubectl(t, site, binary));
});
