/**
 * Builds the features that have a listener of their own.
 */
import type { Handle } from '../config/component.ts';
import { scopeOf } from '../config/scope.ts';
import { createConfiguredAdmission } from '../features/admission/build.ts';
import { createProjectSynchronizer } from '../features/bindings/build.ts';
import { createPolicyProblem } from '../features/cross-tenant/build.ts';
import { ADMISSION_LISTENER } from '../features/listener-settings.ts';
import { createConfiguredPortal, type PortalState } from '../features/portal/build.ts';
import { createQuotaRules } from '../features/quota/build.ts';
import { createConfiguredWebhook, type InForce } from '../features/webhook/build.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { ServingStages } from '../proxy/delivery.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { createKeystoneAuthentication } from './authenticators.ts';
import type { AppBuild } from './backends.ts';
import type { BuiltFeatures } from './build-features.ts';
import type { AdmissionBuild } from './configuration.ts';
import { FEATURES } from './features.ts';
import { featureListener, type ServedListener } from './listeners.ts';

interface ListenerOptions {
  /** Undefined if the process was started without a portal. */
  readonly portal: PortalState | undefined;
  /** Whether the process was started with a webhook. */
  readonly hasWebhook: boolean;
  readonly inForce: () => InForce;
}

/**
 * One API server sends the reviews of all users, so a limit per address would be one for all; the limit of
 * concurrent validations stays.
 */
const UNLIMITED = { perSecond: Number.MAX_SAFE_INTEGER, burst: Number.MAX_SAFE_INTEGER };

export function buildListeners(
  build: AppBuild,
  { extensions: { pages }, namespaceOf }: BuiltFeatures,
  stages: ServingStages,
  { portal, hasWebhook, inForce }: ListenerOptions,
) {
  const { buildFor, loaded, upstream, provisioningUpstream } = build;
  const { mode } = stages;
  const { identityDigest } = loaded;
  const clientSetup = buildFor(FEATURES.clientSetup).parts.setup;
  const authenticator = hasWebhook ? createKeystoneAuthentication(build, mode, UNLIMITED) : undefined;
  const webhook =
    authenticator &&
    createConfiguredWebhook(buildFor(FEATURES.webhook), {
      ...{ mode, inForce, createProjectSynchronizer, authenticator },
    });
  const servePortal =
    portal &&
    createConfiguredPortal(
      buildFor(FEATURES.portal),
      { stages, pages, clientSetup, namespaceOf, identityDigest },
      portal,
    );
  const serveAdmission = createConfiguredAdmission(
    buildFor(FEATURES.admission),
    upstream,
    createQuotaRules(buildFor(FEATURES.quota), provisioningUpstream),
    createPolicyProblem,
  );
  const { http2, timeouts, limits } = loaded.configuration.server;
  const defaults = { http2, timeouts, limits };
  const listeners = [
    featureListener(FEATURES.portal, build, defaults, servePortal),
    featureListener(FEATURES.webhook, build, defaults, webhook?.serve),
    featureListener(FEATURES.admission, build, defaults, serveAdmission),
  ].filter((listener) => listener !== undefined);
  const readiness: readonly ReadinessCheck[] = webhook?.checks ?? [];
  return { listeners, readiness, syncRules: webhook?.syncRules };
}

/**
 * Builds the admission webhook for a process that serves nothing else.
 *
 * @param upstream undefined if no API server is configured
 */
export function buildAdmissionListener(
  build: AdmissionBuild,
  upstream: Handle<Upstream> | undefined,
): ServedListener {
  const { loaded, runtime, generation } = build;
  const { configuration } = loaded;
  const common = { runtime, scope: scopeOf(generation) };
  const quota = { ...common, parts: FEATURES.quota.reads(configuration, loaded) };
  const admission = { ...common, parts: FEATURES.admission.reads(configuration, loaded) };
  const rules = createQuotaRules(quota, upstream);
  const serve = createConfiguredAdmission(admission, upstream, rules, createPolicyProblem);
  const listener = featureListener(FEATURES.admission, build, ADMISSION_LISTENER, serve);
  if (listener === undefined) throw new Error('there is no section admission');
  return listener;
}
