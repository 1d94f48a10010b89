/**
 * The proxy of a configuration: the stages of `proxy/serve-request.ts` with the features of
 * `build-features.ts`.
 */

import { createAnonymousAccess } from '../identity/anonymous.ts';
import type { Exchange } from '../lib/exchange.ts';
import { ByteBudget } from '../limits/byte-budget.ts';
import { INSPECTED_BODIES } from '../limits/memory-bounds.ts';
import type { RequestObserver } from '../observability/request-observer.ts';
import type { ServingStages } from '../proxy/delivery.ts';
import { LastModes } from '../proxy/impersonation/impersonation-modes.ts';
import { parseTrustedProxies } from '../proxy/request/client-address.ts';
import { createBodyInspection } from '../proxy/request/inspect-body.ts';
import { permitsStream, recheckStreams } from '../proxy/request/open-stream.ts';
import { serveRequest } from '../proxy/serve-request.ts';
import type { StreamCredential } from '../proxy/streams/open-stream.ts';
import type { StreamLifetimesOptions } from '../proxy/streams/stream-lifetimes.ts';
import { writeStatus } from '../server/status-writer.ts';
import type { AppBuild } from './backends.ts';
import { type BuiltFeatures, buildFeatures, type FeatureOptions, OWN_BODY_BYTES } from './build-features.ts';

export interface ConfiguredProxy {
  /** Serves a request of a client of the API. */
  serve(exchange: Exchange): Promise<void>;
  /** Validates a credential of open streams again; see `recheckStreams`. */
  recheck(credential: StreamCredential): Promise<void>;
  /** Whether the policies in force permit a guest's stream. */
  readonly permits: StreamLifetimesOptions['permits'];
  readonly stages: ServingStages;
  readonly features: BuiltFeatures;
  /** Clears what is cached of credentials in this process. */
  clear(): void;
}

export interface ProxyOptions extends FeatureOptions {
  /** Sees every request. */
  readonly observer: RequestObserver;
}

export function createProxy(build: AppBuild, options: ProxyOptions): ConfiguredProxy {
  const { runtime, generation, upstream, reviewPathOf, loaded } = build;
  const { server, authentication } = loaded.configuration;
  const { responseMemory, streams, observer } = options;
  const features = buildFeatures(build, options, () => stages);
  const { mode, reviewer, reasonOf, extensions, asUser, ownAPI, credentials, roles, policies } = features;
  const stages: ServingStages = {
    ...runtime,
    ...asUser,
    ...extensions,
    ownAPI,
    trustedProxies: parseTrustedProxies(server.trustedProxies),
    anonymousAccess: createAnonymousAccess(authentication.anonymous),
    impersonation: {
      reviewer,
      extraKeys: new Set(authentication.impersonationExtraKeys),
      lastModes: new LastModes(),
      reasonOf,
    },
    bodies: createBodyInspection({
      rules: extensions.bodyRules,
      reviewPathOf,
      convertsProtobuf: mode.protobuf === 'asJSON',
      memory: new ByteBudget(INSPECTED_BODIES),
      ownBodyBytes: OWN_BODY_BYTES,
      fetcher: upstream,
      clock: runtime.clock,
      bodyTimeout: server.timeouts.body,
    }),
    observer,
    forwarder: upstream,
    tunneller: upstream,
    undecided: generation.inFlight,
    streams,
    responseMemory,
    writeStatus,
  };
  return {
    serve: (exchange) => serveRequest(exchange, stages),
    async recheck(credential) {
      const inFlight = generation.inFlight.enter();
      try {
        await recheckStreams(credential, stages);
      } finally {
        inFlight.release();
      }
    },
    permits: (stream, now) => permitsStream(stream, policies?.policies, now),
    stages,
    features,
    clear() {
      credentials.clear();
      roles?.clear();
    },
  };
}
