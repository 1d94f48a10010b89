/**
 * A real kube-apiserver and a Stonegate in shared mode whose users may create access tokens. Keystone’s roles
 * are looked up, and the RBAC index is on.
 */
import type { Test } from 'tap';
import { admitBridge, BRIDGE } from '../keystone/bridge.ts';
import { serveTestbed } from '../stonegate.ts';
import { createTokenClient } from '../token-client.ts';
import type { KubernetesOptions } from './api-server.ts';
import { addProvisioner, type KubernetesSiteOptions, prepareKubernetesSite } from './site.ts';

export interface TokenSiteOptions extends KubernetesOptions, Pick<KubernetesSiteOptions, 'portal'> {
  readonly tokens?: object;
  readonly configuration?: Record<string, object>;
}

export async function startTokenSite(
  t: Pick<Test, 'testdir' | 'teardown'>,
  { tokens = {}, configuration, ...options }: TokenSiteOptions = {},
) {
  const { kubernetes, testbed, letWork } = await prepareKubernetesSite(t, {
    ...options,
    keystoneConfiguration: { serviceCredential: BRIDGE, roleAssignments: { cacheTTL: '1s' } },
    configuration: {
      access: { index: true, authorizers: ['RBAC'] },
      bindings: { credential: { tokenFile: 'provisioner-token' } },
      tokens,
      ...configuration,
    },
  });
  await admitBridge(testbed.keystone, testbed.configFile);
  await addProvisioner(kubernetes, testbed.configFile);
  const stonegate = await serveTestbed(t, testbed);
  return { kubernetes, testbed, stonegate, letWork, ...createTokenClient(stonegate) };
}
