/**
 * The webhook that a configuration describes, with the adapters behind its ports. Rules that were read from a ConfigMap
 * outlive a reload: while a new one is being looked at, the last good rules stay in force.
 */

import type { KeystoneConfiguration, WebhookConfiguration, WebhookSource } from '../api/config-v1alpha1.ts';
import type { KeystonePolicy, KeystoneSync } from '../api/keystone-auth.ts';
import { authenticate } from '../authentication/authenticator.ts';
import { createKeystoneAuthenticator } from '../authentication/keystone.ts';
import { createKeystonePolicy } from '../authorization/keystone-policy/keystone-policy.ts';
import { createProjectSynchronizer, type ProjectSynchronizer } from '../bindings/project-sync.ts';
import { createClusterObjects } from '../clients/cluster-objects.ts';
import { type ConfigMapRules, createConfigMapRules } from '../clients/config-map.ts';
import { createKeystoneGroupNames, type KeystoneGroupNames } from '../clients/keystone-login.ts';
import { type Read, readPolicy } from '../config/keystone-auth/policy-file.ts';
import { syncReader } from '../config/keystone-auth/sync-file.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { createUnknownCredentialGate } from '../flowcontrol/unknown-credential-gate.ts';
import { createKept, type Keeping, type Kept, keepTogether } from '../lib/kept.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { Exchange } from '../pipeline/ports.ts';
import type { Stages } from '../pipeline/stages.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type {
  AccessPolicy,
  KeystoneGroups,
  KeystoneIdentities,
  Live,
  ProjectSync as WebhookProjectSync,
} from '../webhook/ports.ts';
import { createKeystoneGroups, createTokenReviewHandler } from '../webhook/token-review.ts';
import { createWebhook } from '../webhook/webhook.ts';
import type { Adapters } from './adapters.ts';
import { tagsOf } from './authenticators-of.ts';
import { fingerprintOf, type Surroundings } from './made-of.ts';
import { provisioningMadeOf, provisioningUpstream } from './provisioning-parts.ts';

/** Rules with where they come from; no check where they were read with the configuration. */
interface Rules<T> {
  readonly live?: Live<T>;
  readonly check?: ReadinessCheck;
}

/** What others than a review ask for. */
interface WhatIsAsked {
  readonly checks: readonly ReadinessCheck[];
  readonly syncRules: Live<KeystoneSync> | undefined;
}

interface RunningSync {
  readonly sync: ProjectSynchronizer;
  readonly upstream: Upstream;
}

export class WebhookParts {
  readonly #around: Surroundings;
  readonly #adapters: Adapters;
  readonly #policies = createKept<ConfigMapRules<KeystonePolicy>>(stopRules, startRules);
  readonly #syncs = createKept<ConfigMapRules<KeystoneSync>>(stopRules, startRules);
  readonly #groupNames = createKept<KeystoneGroupNames>((client) => client.close());
  readonly #projects = createKept<RunningSync>(async ({ sync, upstream }) => {
    await sync.close();
    await upstream.close();
  });
  readonly #all = keepTogether(() => [this.#policies, this.#syncs, this.#groupNames, this.#projects]);
  #inForce: WhatIsAsked = { checks: [], syncRules: undefined };
  #prepared: WhatIsAsked | undefined;

  constructor(around: Surroundings, adapters: Adapters) {
    this.#around = around;
    this.#adapters = adapters;
  }

  /**
   * Prepared, until `kept` is committed; where it is committed without, there is no webhook from then on.
   *
   * @param mode of the API, so that people are called as the API calls them
   */
  webhook(
    loaded: LoadedConfiguration,
    webhook: WebhookConfiguration,
    mode: Stages['mode'],
  ): (exchange: Exchange) => Promise<void> {
    const { keystone } = loaded.configuration.authentication;
    if (keystone === undefined) throw new Error('a webhook without Keystone');
    const policy = this.#rules(loaded, this.#policies, webhook, webhook.policy, 'policies', readPolicy);
    const read = syncReader(loaded.configuration);
    const sync = this.#rules(loaded, this.#syncs, webhook, webhook.sync, 'syncConfig', read);
    const checks = [policy.check, sync.check].filter((check) => check !== undefined);
    this.#prepared = { checks, syncRules: sync.live };
    return createWebhook({
      ...this.#around,
      path: webhook.path,
      bodyTimeout: loaded.configuration.server.timeouts.body,
      policy: policy.live && authorizing(policy.live),
      tokens: createTokenReviewHandler({
        identities: this.#identities(loaded, keystone, mode),
        legacy: webhook.usernames === 'legacy' ? this.#groups(loaded, keystone) : undefined,
        rules: sync.live,
        sync: this.#sync(loaded, sync.live, mode),
      }),
    });
  }

  get checks(): readonly ReadinessCheck[] {
    return this.#inForce.checks;
  }

  get kept(): Keeping {
    return {
      ...this.#all,
      commit: () => {
        this.#all.commit();
        // Whom a review under way still asks to be bound, the last rules say where.
        this.#inForce = this.#prepared ?? { ...this.#inForce, checks: [] };
        this.#prepared = undefined;
      },
      rollback: () => {
        this.#prepared = undefined;
        return this.#all.rollback();
      },
    };
  }

  /** @param key of a ConfigMap's data */
  #rules<T>(
    loaded: LoadedConfiguration,
    kept: Kept<ConfigMapRules<T>>,
    { configMapInterval: interval }: WebhookConfiguration,
    source: WebhookSource | undefined,
    key: string,
    read: (content: string) => Read<T>,
  ): Rules<T> {
    if (source === undefined) return {};
    if ('file' in source) {
      const found = read(loaded.file(source.file).toString('utf8'));
      // The configuration would not have been loaded.
      if (!found.ok) throw new Error(`${source.file}: ${found.problems.join(', ')}`);
      return { live: { current: found.value } };
    }
    const { configMap: reference } = source;
    const { bindings, tenancy } = loaded.configuration;
    const judgedBy = [bindings.credential !== undefined, tenancy.mode];
    const fetcher = () => this.#adapters.upstreamInForce;
    const rules = kept.take(fingerprintOf(reference, interval, judgedBy), () =>
      createConfigMapRules({ ...this.#around, fetcher, reference, key, read, interval }),
    );
    return { live: rules, check: rules.check };
  }

  /**
   * Keystone's alone: no other token is anybody's here, and none of them reaches Keystone. One API server asks for
   * everybody, so a bound for each address would be one for all; what is under way at once stays bounded.
   */
  #identities(
    loaded: LoadedConfiguration,
    keystone: KeystoneConfiguration,
    mode: Stages['mode'],
  ): KeystoneIdentities {
    const { clock, telemetry } = this.#around;
    const { unknownCredentials } = loaded.configuration.limits;
    const perSource = { perSecond: Number.MAX_SAFE_INTEGER, burst: Number.MAX_SAFE_INTEGER };
    const authenticator = createKeystoneAuthenticator({
      identity: this.#adapters.keystone(loaded, keystone).client,
      cache: this.#adapters.tokens(loaded, keystone),
      gate: createUnknownCredentialGate({ ...unknownCredentials, perSource, clock, telemetry }),
      tokenProvider: keystone.tokenProvider,
      clock,
      tagsOf: (token) => tagsOf(token, mode),
    });
    return {
      authenticate: async (token, source) =>
        authenticate([authenticator], { kind: 'bearer', token }, { source }),
      describe(identity) {
        const tenant = mode.tenantOf(identity);
        return { tenant, user: mode.userOf(identity, tenant) };
      },
    };
  }

  /** Without a credential to provision with, the rules have been found to ask for nothing. */
  #sync(
    loaded: LoadedConfiguration,
    rules: Live<KeystoneSync> | undefined,
    mode: Stages['mode'],
  ): WebhookProjectSync {
    if (loaded.configuration.bindings.credential === undefined || rules === undefined)
      return { request() {} };
    const madeOf = fingerprintOf(provisioningMadeOf(loaded), mode.name);
    const { sync } = this.#projects.take(madeOf, () => this.#projectSync(loaded, mode));
    return {
      // What is bound in the system tenant counts in every other.
      request(member) {
        if (member.tenant === undefined || !mode.isSystem(member.tenant)) sync.request(member);
      },
    };
  }

  #projectSync(loaded: LoadedConfiguration, mode: Stages['mode']): RunningSync {
    const upstream = provisioningUpstream(loaded, this.#around);
    if (upstream === undefined) throw new Error('no credential to provision with');
    const sync = createProjectSynchronizer({
      ...this.#around,
      objects: createClusterObjects(upstream),
      rules: () => this.#inForce.syncRules?.current,
      placeOf({ tenant }) {
        const named = tenant && mode.reviewTenant(tenant);
        return named === undefined ? {} : { tenant: named };
      },
    });
    return { sync, upstream };
  }

  #groups(loaded: LoadedConfiguration, { url, caFile, timeout }: KeystoneConfiguration): KeystoneGroups {
    const ca = caFile === undefined ? {} : { ca: loaded.file(caFile).toString() };
    const client = this.#groupNames.take(fingerprintOf(url, ca, timeout), () =>
      createKeystoneGroupNames({ ...this.#around, url, ...ca, timeout }),
    );
    return createKeystoneGroups((userID, token) => client.list(userID, token));
  }
}

function startRules(rules: Pick<ConfigMapRules<unknown>, 'start'>): void {
  rules.start();
}

function stopRules(rules: Pick<ConfigMapRules<unknown>, 'stop'>): void {
  rules.stop();
}

function authorizing(policies: Live<KeystonePolicy>): Live<AccessPolicy> {
  const authorizerOf = memoizeByReference(createKeystonePolicy);
  return {
    get current() {
      return policies.current && authorizerOf(policies.current);
    },
  };
}
