/**
 * Access across tenants in a testbed: an Arktos with the custom resources of Stonegate and its admission
 * webhook registered, and Stonegate with the rights that its own manifests print, nothing more.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { JsonObject } from './apiserver/json.ts';
import { printedManifests, seedManifests } from './manifests.ts';
import { abacLine, POLICY_WEBHOOK } from './policies.ts';
import type { Testbed } from './testbed.ts';

const PROVISIONER_TOKEN = 'provisioner-token';

export interface CrossTenantOptions {
  /** Lines of `authorization.abacPolicyFile`; no file without it. */
  readonly abac?: readonly AbacLine[];
  /** Besides the file. */
  readonly authorization?: object;
  /** Merged over the configuration, member by member. */
  readonly configuration?: Record<string, object>;
}

/** One line; `*` in the fields that are not given. */
export interface AbacLine {
  readonly name: string;
  /** Of the users. */
  readonly tenant: string;
  /** Entered. */
  readonly space: string;
  readonly user?: string;
  readonly group?: string;
  readonly namespace?: string;
  readonly apiGroup?: string;
  readonly resource?: string;
  readonly readonly?: boolean;
}

export type CrossTenant = Awaited<ReturnType<typeof prepareCrossTenant>>;

type RbacResource = 'clusterroles' | 'clusterrolebindings' | 'rolebindings';
type TenancyResource = 'crosstenantpolicies' | 'tenantadministrations';

const TENANCY = 'tenancy.stonegate.dev/v1alpha1';
const RBAC = 'rbac.authorization.k8s.io';

/** Before Stonegate is started. */
export async function prepareCrossTenant(testbed: Testbed, options: CrossTenantOptions) {
  const { apiServer, configFile } = testbed;
  const { seed, cluster } = apiServer;
  const folder = dirname(configFile);
  seed.token(PROVISIONER_TOKEN, { username: 'provisioner' });
  await writeFile(join(folder, 'provisioner-token'), PROVISIONER_TOKEN);
  await applyManifests(testbed, ['crds']);
  registerWebhook(testbed);

  /** Writes the policy file anew, and nothing else. */
  const writePolicyFile = (lines: readonly AbacLine[]): Promise<void> =>
    writeFile(join(folder, 'policies.jsonl'), lines.map(lineOf).join(''));

  /** Writes the configuration and the policy file anew, and gives Stonegate the rights for it. */
  async function configure({
    abac,
    authorization = {},
    configuration = {},
  }: CrossTenantOptions): Promise<void> {
    if (abac !== undefined) await writePolicyFile(abac);
    await testbed.configure({
      bindings: { credential: { tokenFile: 'provisioner-token' } },
      authorization: { ...(abac !== undefined && { abacPolicyFile: 'policies.jsonl' }), ...authorization },
      ...configuration,
    });
    await applyManifests(testbed, ['rbac', '--config', configFile, '--user', 'stonegate']);
    await applyManifests(testbed, ['rbac', '--config', configFile, '--user', 'provisioner', '--provisioner']);
  }
  await configure(options);

  const locationOf = (resource: string, tenant: string, name: string) => ({
    tenant,
    group: resource.includes('role') ? RBAC : 'tenancy.stonegate.dev',
    resource,
    namespace: '',
    name,
  });
  const create = (kind: string, resource: TenancyResource, tenant: string, name: string, spec: object) => {
    cluster.remove(locationOf(resource, tenant, name));
    const object = { apiVersion: TENANCY, kind, metadata: {}, spec: { ...spec } };
    seed.object(`${TENANCY}/${resource}`, name, object, { tenant });
  };
  return {
    configure,
    writePolicyFile,
    /** A CrossTenantPolicy of the tenant, as an administrator there created it; created anew if it exists. */
    policy: (tenant: string, name: string, spec: object) =>
      create('CrossTenantPolicy', 'crosstenantpolicies', tenant, name, spec),
    /** A TenantAdministration of the system tenant. */
    administration: (name: string, spec: object) =>
      create('TenantAdministration', 'tenantadministrations', 'system', name, spec),
    remove: (resource: TenancyResource, tenant: string, name: string) =>
      void cluster.remove(locationOf(resource, tenant, name)),
    /** The object of a tenant as it is stored; undefined if there is none. */
    object: (
      resource: RbacResource | TenancyResource,
      tenant: string,
      name: string,
    ): JsonObject | undefined =>
      cluster.store.list({ resource, tenant, name }).map(({ object }) => object)[0],
    /** Names of the roles and bindings that Stonegate made from policies: `acme/clusterroles/NAME`. */
    provisioned: () =>
      cluster.store
        .list({ group: RBAC })
        .filter(({ location }) => /^stonegate[:-]policy[:-]/.test(location.name))
        .map(({ location: { tenant, resource, name } }) => `${tenant}/${resource}/${name}`),
  };
}

function lineOf(line: AbacLine): string {
  return `${abacLine({ namespace: '*', apiGroup: '*', resource: '*', readonly: false, ...line })}\n`;
}

/**
 * Registers the webhook that the configuration's section `admission` serves, in place of one that only looks
 * registered: the API server asks it about each write.
 */
export async function registerServedWebhook(testbed: Testbed, port: number): Promise<void> {
  const { configFile } = testbed;
  const files = ['--config', configFile, '--ca-file', join(dirname(configFile), 'ca.crt')];
  const url = `https://127.0.0.1:${port}`;
  await applyManifests(testbed, ['admission', ...files, '--url', url, '--user', 'stonegate'], LONG_AGO);
}

/** Policies that were created since have been checked. */
const LONG_AGO = { creationTimestamp: '2026-01-01T00:00:00Z' };

const applyManifests = async ({ apiServer }: Testbed, argv: readonly string[], marks: JsonObject = {}) =>
  seedManifests(apiServer.seed, await printedManifests(...argv), marks);

function registerWebhook({ apiServer }: Testbed): void {
  apiServer.seed.object(
    'admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    'stonegate-policies',
    {
      metadata: LONG_AGO,
      webhooks: [POLICY_WEBHOOK],
    },
  );
}
