/** In shared mode the admission webhook judges nothing in two namespaces: check looks for tenants there. */
import t from 'tap';
import { check } from '../../src/app/commands/check.ts';
import { printedIO } from '../support/printed-io.ts';
import { createTestbed } from '../support/testbed.ts';

const BOUND = /^warning: the RoleBinding .*the admission webhook judges nothing in/m;
const CERTIFICATE = { certFile: 'apiserver.crt', keyFile: 'apiserver.key' };

t.test('check warns if a tenant’s group is bound in a namespace that admission leaves out', async (t) => {
  const testbed = await createTestbed({ folder: t.testdir(), mode: 'shared' });
  t.teardown(() => testbed.close());
  const { seed, cluster } = testbed.apiServer;
  const run = async () => {
    const { io, printed } = printedIO();
    t.equal(await check(['--config', testbed.configFile], io), 0, printed.stderr);
    return printed.stderr;
  };
  seed.roleBinding('leader', 'admin', ['user:system:kube-scheduler'], { namespace: 'kube-system' });
  seed.roleBinding('team', 'admin', ['group:stonegate:tenant:acme'], { namespace: 'default' });
  t.notMatch(await run(), BOUND);

  seed.roleBinding('agents', 'admin', ['user:ops', 'group:stonegate:tenant:acme'], {
    namespace: 'stonegate',
  });
  seed.roleBinding('agents', 'admin', ['group:stonegate:tenant:globex'], { namespace: 'kube-system' });
  const warnings = await run();
  t.match(warnings, /^warning: the RoleBinding kube-system\/agents is for stonegate:tenant:globex: /m);
  t.match(warnings, /^warning: the RoleBinding stonegate\/agents is for stonegate:tenant:acme: /m);

  const [role] = cluster.store.list({ resource: 'clusterroles', name: 'stonegate-impersonator' });
  if (!Array.isArray(role?.object.rules)) throw new Error('no role');
  const rules = role.object.rules.filter((rule) => !JSON.stringify(rule).includes('rolebindings'));
  cluster.store.put(role.location, { ...role.object, rules });
  t.notMatch(
    await run(),
    /tenant's group/,
    'without the right and without admission there is nothing to say',
  );
  await testbed.configure({ admission: { tls: CERTIFICATE } });
  t.match(
    await run(),
    /^warning: upstream\.credential: may not list rolebindings, .* kube-system or stonegate/m,
  );
});
