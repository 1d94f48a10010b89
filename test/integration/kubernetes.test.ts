/** The real kube-apiserver of the tests is what the other tests take it for. */
import t from 'tap';
import { startKubernetes } from '../support/kubernetes/api-server.ts';
import { missingKubernetes, NEWEST, OLDEST, type Release } from '../support/kubernetes/programs.ts';

for (const release of [OLDEST, NEWEST] satisfies Release[]) {
  t.test(`a kube-apiserver of ${release}`, { skip: missingKubernetes(release) }, async (t) => {
    const kubernetes = await startKubernetes({ release });
    t.teardown(() => kubernetes.stop());
    const version = (await kubernetes.ask(kubernetes.admin, '/version')).json();
    t.equal(`${version.major}.${version.minor}`, release);
    const alice = await kubernetes.user('alice', ['developers']);
    const pods = await kubernetes.ask(alice, '/api/v1/namespaces/default/pods');
    t.match(pods.json(), { code: 403, message: /User "alice" cannot list resource "pods"/ });
  });
}
