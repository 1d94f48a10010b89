/**
 * Access across tenants in a testbed: an Arktos in which Stonegate’s custom resources and admission webhook
 * are registered, and a Stonegate with only the rights that its own manifests print.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { JsonObject } from './apiserver/json.ts';
import { printedManifests, seedManifests } from './manifests.ts';
import { abacLine, POLICY_WEBHOOK } from './policies.ts';
import type { Testbed } from './testbed.ts';

const PROVISIONER_TOKEN = 'provisioner-token';

export interface CrossTenantOptions {
  /** The lines of `authorization.abacPolicyFile`; by default there is no file. */
  readonly abac?: readonly AbacLine[];
  /** The section `authorization`, besides the file. */
  readonly authorization?: object;
  /** Merged over the configuration, member by member. */
  readonly configuration?: Record<string, object>;
}

/** One line of the file; absent fields are `*`. */
export interface AbacLine {
  readonly name: string;
  /** The tenant of the users. */
  readonly tenant: string;
  /** The tenant that they enter. */
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

/** Prepares the testbed before Stonegate is started. */
export async function prepareCrossTenant(testbed: Testbed, options: CrossTenantOptions) {
  const { apiServer, configFile } = testbed;
  const { seed, cluster } = apiServer;
  const folder = dirname(configFile);
  seed.token(PROVISIONER_TOKEN, { username: 'provisioner' });
  await writeFile(join(folder, 'provisioner-token'), PROVISIONER_TOKEN);
  await applyManifests(testbed, ['crds']);
  registerWebhook(testbed);

  /** Replaces the policy file, and nothing else. */
  const writePolicyFile = (lines: readonly AbacLine[]) =>
    writeFile(join(folder, 'policies.jsonl'), lines.map(lineOf).join(''));

  /** Replaces the configuration and the policy file, and gives Stonegate the rights that it needs. */
  async function configure({ abac, authorization = {}, configuration = {} }: CrossTenantOptions) {
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
    /** Creates a CrossTenantPolicy as an administrator of the tenant would, in place of an existing one. */
    policy: (tenant: string, name: string, spec: object) =>
      create('CrossTenantPolicy', 'crosstenantpolicies', tenant, name, spec),
    /** Creates a TenantAdministration of the system tenant. */
    administration: (name: string, spec: object) =>
      create('TenantAdministration', 'tenantadministrations', 'system', name, spec),
    remove: (resource: TenancyResource, tenant: string, name: string) =>
      void cluster.remove(locationOf(resource, tenant, name)),
    /** The stored object of a tenant; undefined if there is none. */
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

function lineOf(line: AbacLine) {
  return `${abacLine({ namespace: '*', apiGroup: '*', resource: '*', readonly: false, ...line })}\n`;
}

/**
 * Registers the webhook that the section `admission` serves, in place of a registration without a server. The
 * API server calls it for each write.
 */
export async function registerServedWebhook(testbed: Testbed, port: number) {
  const { configFile } = testbed;
  const files = ['--config', configFile, '--ca-file', join(dirname(configFile), 'ca.crt')];
  const url = `https://127.0.0.1:${port}`;
  await applyManifests(testbed, ['admission', ...files, '--url', url, '--user', 'stonegate'], LONG_AGO);
}

/** A registration so old that the webhook has checked all policies. */
const LONG_AGO = { creationTimestamp: '2026-01-01T00:00:00Z' };

const applyManifests = async ({ apiServer }: Testbed, argv: readonly string[], marks: JsonObject = {}) =>
  seedManifests(apiServer.seed, await printedManifests(...argv), marks);

function registerWebhook({ apiServer }: Testbed) {
  apiServer.seed.object(
    'admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    'stonegate-policies',
    {
      metadata: LONG_AGO,
      webhooks: [POLICY_WEBHOOK],
    },
  );
}
