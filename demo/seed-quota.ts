/**
 * Quotas in the demo: what `stonegate manifests` prints for them, with the tenant acme at its limit of pods.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TENANCY_FACTS } from '../src/tenancy/facts.ts';
import { printedManifests, seedManifests } from '../test/support/manifests.ts';
import { type Mode, OWN_TOKEN, type Testbed } from '../test/support/testbed.ts';

const TOKEN = 'provisioner-token';

/** @param port of the admission webhook */
export function quotaConfiguration(port: number): Record<string, object> {
  return {
    bindings: { credential: { tokenFile: TOKEN } },
    admission: { bind: `127.0.0.1:${port}`, tls: { certFile: 'tls.crt', keyFile: 'tls.key' } },
    quota: { default: { pods: '10', 'count/deployments.apps': '5' }, count: ['apps/v1/deployments'] },
  };
}

export async function seedQuota(
  { apiServer: { seed }, configFile }: Testbed,
  mode: Mode,
  port: number,
  pods: number,
): Promise<void> {
  const folder = dirname(configFile);
  await writeFile(join(folder, TOKEN), TOKEN, { mode: 0o600 });
  const { runsInCluster, operatorIsATenant } = TENANCY_FACTS[mode];
  // Where Stonegate can run in the cluster, what is printed is for service accounts.
  const account = runsInCluster ? 'system:serviceaccount:stonegate:' : '';
  seed.token(OWN_TOKEN, { username: `${account}stonegate` });
  seed.token(TOKEN, { username: `${account}stonegate-provisioner` });
  const operators = operatorIsATenant ? { tenant: 'system' } : {};
  seed.namespace('stonegate', operators);
  const config = ['--config', configFile];
  const url = ['--ca-file', join(folder, 'ca.crt'), '--url', `https://127.0.0.1:${port}`];
  for (const argv of [
    ['crds', '--mode', mode],
    ['rbac', ...config],
    ['rbac', ...config, '--provisioner'],
    ['admission', ...config, ...url],
  ]) {
    const objects = await printedManifests(...argv);
    // The demo's users may create what the admission webhook would refuse besides.
    seedManifests(
      seed,
      objects.filter((object) => !JSON.stringify(object).includes('/admission')),
    );
  }
  const hard = { pods: String(pods), 'count/deployments.apps': '5' };
  const place = { ...operators, namespace: 'stonegate' };
  seed.object('tenancy.stonegate.dev/v1alpha1/tenantquotas', 'acme', { spec: { hard } }, place);
}
