/**
 * A real kube-apiserver with the section `members`: Stonegate has the rights and the definitions that
 * `stonegate manifests` prints.
 */
import type { Test } from 'tap';
import { type RunningStonegate, serveTestbed } from '../stonegate.ts';
import type { Testbed } from '../testbed.ts';
import type { Kubernetes } from './api-server.ts';
import { addProvisioner, prepareKubernetesSite } from './site.ts';

export interface MembersSite {
  readonly kubernetes: Kubernetes;
  readonly testbed: Testbed;
  readonly stonegate: RunningStonegate;
  /** A new token of a Keystone user in the tenant, who holds no role. */
  newcomer(name: string, tenant?: string): string;
}

/** Everything ends with the test. */
export async function startMembersSite(t: Pick<Test, 'testdir' | 'teardown'>): Promise<MembersSite> {
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
    newcomer: (name, tenant = 'acme') => keystone.issue(keystone.directory.user(tenant, name)),
  };
}
