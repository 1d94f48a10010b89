/**
 * Stonegate in a testbed in which the projects `web` and `api` of acme have namespaces of the same names,
 * `erin` is a member of web, roles are cached for a second, and the service user may list everything.
 */
import type { Test } from 'tap';
import { admitBridge, BRIDGE } from './keystone/bridge.ts';
import { rule } from './policy-rule.ts';
import { startStonegate } from './stonegate.ts';
import type { Mode } from './testbed.ts';

const CONFIGMAPS = [rule('*', 'configmaps')];

export interface RoleSiteOptions {
  readonly mode?: Mode;
  /** Members of `authentication.keystone`. */
  readonly keystone?: Record<string, unknown>;
  /** Other members of the configuration. */
  readonly configuration?: Record<string, object>;
}

export async function startRoleSite(
  t: Test,
  { mode = 'arktos', keystone: changes = {}, configuration = {} }: RoleSiteOptions = {},
) {
  const folder = t.testdir();
  const stonegate = await startStonegate(t, { folder, mode });
  const { keystone, apiServer, app, configure } = stonegate;
  const { directory } = keystone;
  const [web, api] = [directory.project('acme', 'web'), directory.project('acme', 'api')];
  const erin = directory.user('acme', 'erin');
  directory.assign(erin, 'member', { project: web });
  await admitBridge(keystone, stonegate.configFile);

  const place = mode === 'arktos' ? { tenant: 'acme' } : {};
  const { seed } = apiServer;
  seed.clusterRole('configmaps', CONFIGMAPS, place);
  for (const project of [web, api]) {
    const namespace = project.name;
    seed.namespace(namespace, place);
    for (const group of [
      `keystone:project:${project.id}:role:member`,
      `keystone:domain:${web.domain.id}:role:admin`,
    ])
      seed.roleBinding(`of-${group.split(':')[1]}`, 'configmaps', [`group:${group}`], {
        ...place,
        namespace,
      });
  }
  await configure({
    authentication: {
      keystone: {
        url: keystone.url,
        caFile: 'ca.crt',
        serviceCredential: BRIDGE,
        roleAssignments: { cacheTTL: '1s' },
        ...changes,
      },
    },
    bindings: { namespaceFormat: '%n' },
    ...configuration,
  });
  await app.reload();
  const statusOf = async (token: string, path: string) => (await stonegate.ask(token, path)).status;
  const listings = () => keystone.calls.filter((call) => call.includes('role_assignments')).length;
  return { ...stonegate, directory, web, api, erin, statusOf, listings };
}
