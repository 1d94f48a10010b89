/**
 * The webhook of a configuration. Rules that were read from a ConfigMap outlive a reload: until the
 * ConfigMap has been read again, the last valid rules stay in force.
 */

import type { Build } from '../../config/build.ts';
import { ComponentType, RUNS_TO_THE_END } from '../../config/component.ts';
import type {
  KeystoneConfiguration,
  WebhookConfiguration,
  WebhookSource,
} from '../../config/configuration.ts';
import type { Authenticator } from '../../identity/authenticator.ts';
import { createKeystoneGroupNames, type KeystoneGroupNames } from '../../identity/keystone/keystone-login.ts';
import { placeOf } from '../../kubernetes/kubernetes-object.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import type { Exchange } from '../../lib/exchange.ts';
import type { ReadinessCheck } from '../../lib/readiness.ts';
import { createIdentitySource } from '../../proxy/identity-source.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { createProjectSynchronizer, type ProjectSynchronizer } from '../bindings/feature.ts';
import { caOf, type FeatureBuild } from '../build.ts';
import { type ConfigMapRules, createConfigMapRules } from './config-map.ts';
import type { KeystoneSync, Live, ProjectMember } from './keystone-auth-configuration.ts';
import { type KeystonePolicy, type ParseResult, readPolicy } from './policy-file.ts';
import { syncReader } from './sync-file.ts';
import { createGroupNames, createTokenReviewer, type GroupNames } from './token-review.ts';
import { createWebhook } from './webhook.ts';

export interface ConfiguredWebhook {
  readonly serve: (exchange: Exchange) => Promise<void>;
  /** Whether the rules in ConfigMaps have been read. */
  readonly checks: readonly ReadinessCheck[];
  readonly syncRules: Live<KeystoneSync> | undefined;
}

/**
 * What components ask of the generation that is in force at that moment, since they outlive the one that
 * built them.
 */
export interface InForce {
  readonly upstream: UpstreamFetcher;
  readonly syncRules: Live<KeystoneSync> | undefined;
}

interface Rules<T> extends Live<T> {
  /** Undefined if they were read with the configuration. */
  readonly check?: ReadinessCheck;
}

const POLICY_RULES = new ComponentType<ConfigMapRules<KeystonePolicy>>(
  'ConfigMap of the policy',
  RUNS_TO_THE_END,
);
const SYNC_RULES = new ComponentType<ConfigMapRules<KeystoneSync>>(
  'ConfigMap of the synchronisation',
  RUNS_TO_THE_END,
);
const GROUP_NAMES = new ComponentType<KeystoneGroupNames>('names of Keystone groups', {
  dispose: (client) => client.close(),
});
const PROJECT_SYNC = new ComponentType<ProjectSynchronizer>('synchronisation of projects', {
  dispose: (sync) => sync.close(),
});

export interface WebhookParts {
  /** The tenancy mode of the API, so that the webhook names users as the API does. */
  readonly mode: TenancyMode;
  /** Accepts Keystone tokens alone: no other token belongs to a user here, and none reaches Keystone. */
  readonly authenticator: Authenticator;
  readonly inForce: () => InForce;
}

/** @returns undefined if no webhook is configured */
export function createConfiguredWebhook(
  build: FeatureBuild,
  { mode, authenticator, inForce }: WebhookParts,
): ConfiguredWebhook | undefined {
  const { configuration } = build.loaded;
  const { webhook, authentication, server } = configuration;
  if (webhook === undefined) return undefined;
  const { keystone } = authentication;
  // Loading refuses such a configuration.
  if (keystone === undefined) throw new Error('a webhook without Keystone');
  const rules = <T>(type: ComponentType<ConfigMapRules<T>>, reading: RulesReading<T>) =>
    createRules(build, type, reading, webhook.configMapInterval, inForce);
  const policy = rules(POLICY_RULES, { source: webhook.policy, key: 'policies', read: readPolicy });
  const sync = rules(SYNC_RULES, {
    source: webhook.sync,
    key: 'syncConfig',
    read: syncReader(configuration),
  });
  const serve = createWebhook({
    ...build.runtime,
    path: webhook.path,
    bodyTimeout: server.timeouts.body,
    policy,
    reviewToken: createTokenReviewer({
      identities: createIdentitySource([authenticator], mode),
      groupNames: webhook.usernames === 'legacy' ? createKeystoneGroups(build, keystone) : undefined,
      rules: sync,
      sync: createSync(build, sync, mode, inForce),
    }),
  });
  const checks = [policy?.check, sync?.check].filter((check) => check !== undefined);
  return { serve, checks, syncRules: sync };
}

interface RulesReading<T> {
  readonly source: WebhookSource | undefined;
  /** The key in the data of a ConfigMap. */
  readonly key: string;
  readonly read: (content: string) => ParseResult<T>;
}

function createRules<T>(
  { generation, loaded, runtime }: Build,
  type: ComponentType<ConfigMapRules<T>>,
  { source, key, read }: RulesReading<T>,
  interval: WebhookConfiguration['configMapInterval'],
  inForce: () => InForce,
): Rules<T> | undefined {
  if (source === undefined) return undefined;
  if ('file' in source) {
    const found = read(loaded.file(source.file).toString('utf8'));
    // Loading refuses such a configuration.
    if (!found.ok) throw new Error(`${source.file}: ${found.problems.join(', ')}`);
    return { current: found.value };
  }
  const { configMap: reference } = source;
  const { bindings, tenancy } = loaded.configuration;
  // The fields by which `read` decides.
  const readBy = [bindings.credential !== undefined, tenancy.mode];
  const fetcher = () => inForce().upstream;
  return generation.component(type, {
    fingerprint: [reference, interval, readBy],
    create: () => createConfigMapRules({ ...runtime, fetcher, reference, key, read, interval }),
  });
}

/**
 * Without a provisioning credential nothing is synchronised: loading has checked that the rules ask for
 * nothing.
 */
function createSync(
  build: FeatureBuild,
  rules: Live<KeystoneSync> | undefined,
  mode: TenancyMode,
  inForce: () => InForce,
): ((member: ProjectMember) => void) | undefined {
  const fetcher = build.provisioningUpstream;
  if (fetcher === undefined || rules === undefined) return undefined;
  const sync = build.generation.component(PROJECT_SYNC, {
    fingerprint: [mode.name],
    uses: [fetcher],
    create: () =>
      createProjectSynchronizer({
        ...build.runtime,
        objectsOf: ({ tenant }) =>
          createObjects(fetcher, tenant === undefined ? STONEGATE_ACCOUNT : { kind: 'tenant', tenant }),
        rules: () => inForce().syncRules?.current,
        placeOf: ({ tenant }) => placeOf({ tenant: tenant && mode.reviewTenant(tenant) }),
      }),
  });
  return (member) => {
    // Bindings in the system tenant would hold in every tenant.
    if (member.tenant === undefined || !mode.isSystem(member.tenant)) sync.request(member);
  };
}

function createKeystoneGroups(
  { generation, loaded, runtime }: Build,
  keystone: KeystoneConfiguration,
): GroupNames {
  const options = { url: keystone.url, ...caOf(loaded, keystone), timeout: keystone.timeout };
  const client = generation.component(GROUP_NAMES, {
    fingerprint: [options],
    create: () => createKeystoneGroupNames({ ...runtime, ...options }),
  });
  return createGroupNames((userID, token) => client.list(userID, token));
}
