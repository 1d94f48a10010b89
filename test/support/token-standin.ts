/**
 * Stonegate with access tokens in front of the stand-in Arktos, whose users alice (acme) and carol (of the
 * issuer, also in acme) may do everything in their tenant. Stonegate has the rights that its manifests print.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type AbacLine, prepareCrossTenant } from './cross-tenant.ts';
import { admitBridge, BRIDGE } from './keystone/bridge.ts';
import { serveTestbed } from './stonegate.ts';
import { createTestbed, type Testbed } from './testbed.ts';
import { createTokenClient } from './token-client.ts';

export interface TokenStandInOptions {
  readonly tokens?: object;
  readonly configuration?: Record<string, object>;
  /** Members of `authentication.keystone`. */
  readonly keystone?: object;
  /** The users who may enter other tenants. */
  readonly abac?: readonly AbacLine[];
  /** Called before Stonegate starts. */
  readonly prepare?: (testbed: Testbed) => Promise<unknown>;
}

export type TokenStandIn = Awaited<ReturnType<typeof startTokenStandIn>>;

export async function startTokenStandIn(
  t: Pick<Test, 'testdir' | 'teardown'>,
  { tokens = {}, configuration = {}, keystone, abac = [], prepare }: TokenStandInOptions = {},
) {
  const folder = join(t.testdir({}), 'land');
  await mkdir(folder);
  const testbed = await createTestbed({ folder });
  const { url } = testbed.keystone;
  await admitBridge(testbed.keystone, testbed.configFile);
  testbed.apiServer.seed.namespace('stonegate');
  const base: Record<string, object> = {
    authentication: {
      keystone: {
        ...{ url, caFile: 'ca.crt', timeout: '60s', serviceCredential: BRIDGE },
        ...{ cacheTTL: '1s', roleAssignments: { cacheTTL: '1s' } },
        ...keystone,
      },
    },
    bindings: { credential: { tokenFile: 'provisioner-token' } },
    authorization: { abacPolicyFile: 'policies.jsonl' },
    limits: { streams: { recheck: '100ms' } },
    tokens,
    ...configuration,
  };
  await prepareCrossTenant(testbed, { abac, configuration: base });
  await prepare?.(testbed);
  const stonegate = await serveTestbed(t, testbed);
  return {
    ...stonegate,
    ...createTokenClient(stonegate),
    /** The members of the configuration at the start, besides those of the testbed. */
    base,
    /** Replaces members of the configuration; they are in force when it resolves. */
    async reconfigure(changes: Record<string, object>) {
      await testbed.configure({ ...base, ...changes });
      await stonegate.app.reload();
    },
  };
}
