/**
 * A real kube-apiserver and a Stonegate in shared mode whose users may create access tokens. Keystone’s roles
 * are looked up, and the RBAC index is on.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { BRIDGE } from '../keystone/bridge.ts';
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
  const { directory } = testbed.keystone;
  const bridge = directory.user('Default', 'bridge');
  for (const role of ['reader', 'service']) directory.assign(bridge, role, { system: true });
  await writeFile(join(dirname(testbed.configFile), 'bridge-password'), bridge.password);
  await addProvisioner(kubernetes, testbed.configFile);
  const stonegate = await serveTestbed(t, testbed);
  return { kubernetes, testbed, stonegate, letWork, ...createTokenClient(stonegate) };
}
