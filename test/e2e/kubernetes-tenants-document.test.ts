/**
 * The commands of docs/tenants.md about shared mode as a reader types them, with real kubectl through
 * Stonegate in front of a real kube-apiserver.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { contextsOf } from '../support/kubeconfig.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { startKubernetesSite } from '../support/kubernetes/site.ts';
import { readBlocks } from '../support/page-commands.ts';
import { rule } from '../support/policy-rule.ts';
import { followPage, MARK, PAGE } from '../support/tenants-page.ts';

const skip = missingKubernetes() || (findKubectls().length === 0 && NO_KUBECTL);

t.test('every block of the page is run, or says why not', async (t) => {
  const blocks = readBlocks(PAGE);
  t.ok(blocks.length > 0);
  t.same(
    blocks.filter(({ mark }) => !MARK.test(mark) && !/^not run: ./.test(mark)),
    [],
  );
  t.equal(blocks.length, [...readFileSync(PAGE, 'utf8').matchAll(/```sh/g)].length);
});

t.test('following docs/tenants.md in shared mode', { skip }, async (t) => {
  const { kubernetes, stonegate, letWork } = await startKubernetesSite(t);
  await letWork('globex', 'globex:bob');
  await kubernetes.create('/api/v1/namespaces/globex/configmaps', { metadata: { name: 'settings' } });
  // In a complete cluster a controller aggregates this role.
  const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/view';
  const rules = [rule('get,list,watch', 'configmaps,pods')];
  await kubernetes.admit('PUT', role, { metadata: { name: 'view' }, rules });
  const folder = t.testdir({});
  const tokens = {
    'acme-alice': stonegate.keystoneToken('alice'),
    'globex-bob': stonegate.keystoneToken('bob'),
  };
  const file = join(folder, 'kubeconfig');
  const { url, authority } = stonegate;
  writeFileSync(file, contextsOf({ url, ca: authority.cert }, tokens), { mode: 0o600 });
  await followPage(t, { mode: 'shared', folder, env: { KUBECONFIG: file } });
});
