/**
 * A real kube-apiserver and a Stonegate with the section `members`, which has the rights and the definitions
 * that `stonegate manifests` prints.
 */
import type { Test } from 'tap';
import { serveTestbed } from '../stonegate.ts';
import { addProvisioner, prepareKubernetesSite } from './site.ts';

/** Everything ends with the test. */
export async function startMembersSite(t: Pick<Test, 'testdir' | 'teardown'>) {
  const { kubernetes, testbed } = await prepareKubernetesSite(t, {
    configuration: {
      access: { index: true },
      bindings: { credential: { tokenFile: 'provisioner-token' } },
      limits: { streams: { recheck: '1s' } },
      members: {},
    },
  });
  const { configFile, keystone } = testbed;
  await addProvisioner(kubernetes, configFile);
  const stonegate = await serveTestbed(t, testbed);
  return {
    ...{ kubernetes, testbed, stonegate },
    /** A new token of a Keystone user in the tenant who has no role. */
    newcomer: (name: string, tenant = 'acme') => keystone.issue(keystone.directory.user(tenant, name)),
  };
}
