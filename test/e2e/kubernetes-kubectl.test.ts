/**
 * kubectl works through Stonegate as it does directly, at the newest and the oldest supported kube-apiserver.
 */
import t from 'tap';
import { findAllKubectls, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { addSilentNode, compareKubectl } from '../support/kubernetes/kubectl-comparison.ts';
import { missingKubernetes, NEWEST, OLDEST } from '../support/kubernetes/programs.ts';
import { startKubernetesSite } from '../support/kubernetes/site.ts';

for (const [release, binaries] of [
  [NEWEST, findAllKubectls()],
  [OLDEST, findKubectls()],
] as const) {
  const missing = missingKubernetes(release) || (binaries.length === 0 && NO_KUBECTL);
  t.test(`kubectl at a kube-apiserver of ${release}`, { skip: missing }, async (t) => {
    const site = await startKubernetesSite(t, { release });
    await addSilentNode(site);
    for (const [index, binary] of binaries.entries()) {
      const isOldest = index === 0 && release === NEWEST;
      const extent = isOldest || index === binaries.length - 1 ? 'whole' : 'brief';
      await t.test(`${binary.split('/').at(-1)}`, (t) => compareKubectl(t, site, binary, extent));
    }
  });
}
