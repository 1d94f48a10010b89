/**
 * The webhook of a configuration. Rules that were read from a ConfigMap outlive a reload: until the
 * ConfigMap has been read again, the last valid rules stay in force.
 */

import { ComponentType, RUNS_TO_THE_END } from '../../config/component.ts';
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
import type {
  KeystoneSync,
  Live,
  ProjectMember,
  ProjectSynchronizer,
  ProjectSynchronizerOf,
} from '../bindings/feature.ts';
import type { FeatureBuild } from '../build.ts';
import { type ConfigMapRules, createConfigMapRules } from './config-map.ts';
import type { WebhookParts } from './feature.ts';
import { type KeystonePolicy, type ParseResult, readPolicy } from './policy-file.ts';
import { syncReader } from './sync-file.ts';
import { createGroupNames, createTokenReviewer } from './token-review.ts';
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

export interface WebhookDependencies {
  /** The tenancy mode of the API, so that the webhook names users as the API does. */
  readonly mode: TenancyMode;
  /** Accepts Keystone tokens alone: no other token belongs to a user here, and none reaches Keystone. */
  readonly authenticator: Authenticator;
  readonly inForce: () => InForce;
  readonly createProjectSynchronizer: ProjectSynchronizerOf;
}

/** @returns undefined if no webhook is configured */
export function createConfiguredWebhook(
  build: FeatureBuild<WebhookParts>,
  { mode, authenticator, inForce, createProjectSynchronizer }: WebhookDependencies,
): ConfiguredWebhook | undefined {
  const { parts, scope, runtime } = build;
  if (parts.webhook === undefined) return undefined;
  const { path, usernames, bodyTimeout, support } = parts.webhook;
  const policy = createRules(build, 'policy', POLICY_RULES, { key: 'policies', read: readPolicy, inForce });
  const sync = createRules(build, 'sync', SYNC_RULES, {
    key: 'syncConfig',
    read: syncReader(support),
    inForce,
  });
  const groups =
    usernames === 'legacy'
      ? scope.component(GROUP_NAMES, parts.groups, [], (options) =>
          createKeystoneGroupNames({ ...runtime, ...options }),
        )
      : undefined;
  const serve = createWebhook({
    ...runtime,
    path,
    bodyTimeout,
    policy,
    reviewToken: createTokenReviewer({
      identities: createIdentitySource([authenticator], mode),
      groupNames: groups && createGroupNames((userID, token) => groups.list(userID, token)),
      rules: sync,
      sync: createSync(build, sync, { mode, inForce, createProjectSynchronizer }),
    }),
  });
  const checks = [policy?.check, sync?.check].filter((check) => check !== undefined);
  return { serve, checks, syncRules: sync };
}

interface RulesReading<T> {
  /** The key in the data of a ConfigMap. */
  readonly key: string;
  readonly read: (content: string) => ParseResult<T>;
  readonly inForce: () => InForce;
}

function createRules<T>(
  { parts, scope, runtime }: FeatureBuild<WebhookParts>,
  part: 'policy' | 'sync',
  type: ComponentType<ConfigMapRules<T>>,
  { key, read, inForce }: RulesReading<T>,
): Rules<T> | undefined {
  const source = parts[part];
  if (source === undefined) return undefined;
  if ('text' in source) {
    const found = read(source.text);
    // Loading refuses such a configuration.
    if (!found.ok) throw new Error(`${part}: ${found.problems.map(({ message }) => message).join(', ')}`);
    return { current: found.value };
  }
  const { configMap: reference, interval } = source;
  const fetcher = () => inForce().upstream;
  return scope.component(type, source, [], () =>
    createConfigMapRules({ ...runtime, fetcher, reference, key, read, interval }),
  );
}

/**
 * Without a provisioning credential nothing is synchronised: loading has checked that the rules ask for
 * nothing.
 */
function createSync(
  { scope, runtime, provisioningUpstream }: FeatureBuild<WebhookParts>,
  rules: Live<KeystoneSync> | undefined,
  { mode, inForce, createProjectSynchronizer }: Omit<WebhookDependencies, 'authenticator'>,
): ((member: ProjectMember) => void) | undefined {
  if (provisioningUpstream === undefined || rules === undefined) return undefined;
  const { hasTenantsInPaths } = mode.facts;
  const sync = scope.component(
    PROJECT_SYNC,
    hasTenantsInPaths,
    [provisioningUpstream],
    (inTenants, [fetcher]) =>
      createProjectSynchronizer({
        ...runtime,
        objectsOf: ({ tenant }) =>
          createObjects(fetcher, tenant === undefined ? STONEGATE_ACCOUNT : { kind: 'tenant', tenant }),
        rules: () => inForce().syncRules?.current,
        placeOf: ({ tenant }) => placeOf({ tenant: inTenants ? tenant : undefined }),
      }),
  );
  return (member) => {
    // Bindings in the system tenant would hold in every tenant.
    if (member.tenant === undefined || !mode.isSystem(member.tenant)) sync.request(member);
  };
}
