/**
 * What cross-tenant policies cost, and how fast they take effect: deciding and resolving in one process, then
 * a whole Stonegate before an Arktos stand-in. Run: `node test/bench/programs/policies.ts`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPolicySet } from '../../../src/features/cross-tenant/policy-set.ts';
import { createPolicyResolver } from '../../../src/features/cross-tenant/resolve.ts';
import { prepareCrossTenant } from '../../support/cross-tenant.ts';
import { openRequest } from '../../support/open-request.ts';
import {
  attributes,
  crossTenantPolicy,
  entry,
  NOW,
  POLICY_SETTINGS,
  policyFacts,
} from '../../support/policies.ts';
import { serveTestbed } from '../../support/stonegate.ts';
import { createTestbed } from '../../support/testbed.ts';
import { quantile } from '../statistics.ts';

const TENANTS = 1_000;
const POLICIES_PER_TENANT = 10;
const CHANGES = 20;
const PODS = '/tenants/globex/api/v1/namespaces/default/pods';

/** Milliseconds of CPU. */
function cpuOf(work: () => void): number {
  const begun = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1_000;
}

function decide(): void {
  const names = Array.from({ length: TENANTS }, (_, at) => `tenant-${at}`);
  const crossTenantPolicies = names.flatMap((tenant) =>
    Array.from({ length: POLICIES_PER_TENANT }, (_, at) =>
      crossTenantPolicy({}, { name: `policy-${at}`, tenant }),
    ),
  );
  const facts = policyFacts({
    crossTenantPolicies,
    tenants: names.map((name) => ({ name, labels: {} })),
  });
  const resolve = createPolicyResolver(POLICY_SETTINGS);
  const written = { abac: [], administrations: [], facts };
  let { policies } = resolve(written, NOW);
  const again = cpuOf(() => {
    ({ policies } = resolve(written, NOW));
  });
  let set = createPolicySet(policies);
  const building = cpuOf(() => {
    set = createPolicySet(policies);
  });
  const user = entry('dana', { groups: ['devs'], tenant: 'tenant-500' });
  const refused = attributes('delete', 'secrets');
  const count = 200_000;
  const deciding = cpuOf(() => {
    for (let at = 0; at < count; at += 1) set.permits(user, refused, NOW);
  });
  console.log(`${policies.length} policies in force of ${TENANTS} tenants`);
  console.log(`resolved again after a change: ${again.toFixed(0)} ms, the set ${building.toFixed(0)} ms`);
  console.log(
    `refused by ${POLICIES_PER_TENANT} policies: ${((deciding / count) * 1_000).toFixed(2)} µs a request`,
  );
}

async function takeEffect(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'policies-'));
  const testbed = await createTestbed({ folder });
  const crossTenant = await prepareCrossTenant(testbed, { authorization: { crossTenantPolicies: true } });
  const stonegate = await serveTestbed(testbed);
  const alice = testbed.keystoneToken('alice');
  const destination = { port: stonegate.app.address.port, ca: testbed.authority.cert };
  const grant = () =>
    crossTenant.policy('globex', 'support', {
      subjects: [{ kind: 'User', tenant: 'acme', name: 'alice' }],
      namespaces: ['default'],
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }],
    });
  const until = async (status: number) => {
    const begun = performance.now();
    while ((await stonegate.ask(alice, PODS)).status !== status);
    return performance.now() - begun;
  };
  grant();
  await until(200);
  const times = { granted: [] as number[], refused: [] as number[], watchEnded: [] as number[] };
  for (let at = 0; at < CHANGES; at += 1) {
    const watch = openRequest(destination, alice, `${PODS}?watch=true`);
    await watch.head;
    const removedAt = performance.now();
    crossTenant.remove('crosstenantpolicies', 'globex', 'support');
    const ended = watch.answered.then(() => performance.now() - removedAt);
    times.refused.push(await until(403));
    times.watchEnded.push(await ended);
    grant();
    times.granted.push(await until(200));
  }
  for (const [what, values] of Object.entries(times))
    console.log(
      `${what}: median ${quantile(values, 0.5).toFixed(0)} ms, longest of ${CHANGES}: ${Math.max(...values).toFixed(0)} ms`,
    );
  await stonegate.close();
  await rm(folder, { recursive: true, force: true });
}

decide();
await takeEffect();
