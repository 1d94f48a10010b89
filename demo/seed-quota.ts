/**
 * Quotas in the demo: what `stonegate manifests` prints for them, with the tenant acme at its limit of pods.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { printedManifests, seedManifests } from '../test/support/manifests.ts';
import type { Testbed } from '../test/support/testbed.ts';

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
  port: number,
  pods: number,
): Promise<void> {
  const folder = dirname(configFile);
  await writeFile(join(folder, TOKEN), TOKEN, { mode: 0o600 });
  seed.token(TOKEN, { username: 'stonegate-provisioner' });
  seed.namespace('stonegate', { tenant: 'system' });
  const config = ['--config', configFile];
  const url = ['--ca-file', join(folder, 'ca.crt'), '--url', `https://127.0.0.1:${port}`];
  for (const argv of [
    ['crds'],
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
  const place = { tenant: 'system', namespace: 'stonegate' };
  seed.object('tenancy.stonegate.dev/v1alpha1/tenantquotas', 'acme', { spec: { hard } }, place);
}
