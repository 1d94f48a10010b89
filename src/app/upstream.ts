/**
 * Connections to the API server, and what Stonegate's own credential may impersonate there.
 */

import { ComponentType, type Handle } from '../config/component.ts';
import type { UpstreamConfiguration } from '../config/core-configuration.ts';
import { optionalExtraKeysOf } from '../config/validate-names.ts';
import type { Backends } from '../features/build.ts';
import { createReviewPaths, type ReviewPathOf } from '../kubernetes/review-paths.ts';
import { PolledUpstreamRights } from '../kubernetes/upstream-rights.ts';
import { TENANT_QUEUE_BYTES } from '../limits/memory-bounds.ts';
import { readRequestInfo } from '../proxy/request/request-info.ts';
import type { UpstreamCredential } from '../upstream/credential.ts';
import { createReviewedWritePermits, type ReviewedWritePermits } from '../upstream/reviewed-write-permits.ts';
import { createUpstream, type Upstream } from '../upstream/upstream.ts';
import {
  type AdmissionBuild,
  DEFINITIONS,
  type LoadedStonegate,
  type StonegateBuild,
} from './configuration.ts';

/** It is disposed when its last watch or tunnel has ended, which may take days. */
const OWN_UPSTREAM = new ComponentType<Upstream>('connections to the API server', {
  dispose: (upstream) => upstream.close(),
  destroy: (upstream) => upstream.destroy(),
});
const PROVISIONING_UPSTREAM = new ComponentType<Upstream>('connections that provision', {
  dispose: (upstream) => upstream.destroy(),
});

export interface Upstreams extends Pick<Backends, 'upstream' | 'provisioningUpstream'> {
  /** Finds where Arktos has a write reviewed. It takes a few at a time; undefined if no write waits. */
  readonly reviewPathOf: ReviewPathOf | undefined;
}

export function createUpstreams(build: StonegateBuild): Upstreams {
  const { generation, loaded, runtime } = build;
  const { upstream, bindings, authentication } = loaded.configuration;
  const { reviewedWrites, reviewPathOf } = createReviewedWrites(build);
  const connect = (
    type: ComponentType<Upstream>,
    credential: UpstreamConfiguration['credential'],
    passThrough: boolean,
  ) => {
    const options = upstreamOptions(loaded, credential, passThrough);
    return generation.component(type, {
      fingerprint: [upstream, options],
      uses: [reviewedWrites],
      create: () => createUpstream({ ...runtime, ...options, reviewedWrites }),
    });
  };
  return {
    upstream: connect(OWN_UPSTREAM, upstream.credential, authentication.tokenReview !== undefined),
    provisioningUpstream: bindings.credential && connect(PROVISIONING_UPSTREAM, bindings.credential, false),
    reviewPathOf,
  };
}

const REVIEWED_WRITES = new ComponentType<ReviewedWritePermits>('writes that the admission webhook reviews', {
  dispose: (permits) => permits.destroy(),
});

/** All connections to the API server share the permits. Without the section `admission` there are none. */
function createReviewedWrites({ generation, loaded, runtime }: StonegateBuild) {
  const { upstream, limits, tenancy, admission } = loaded.configuration;
  const { facts } = tenancy;
  const writes =
    facts.throttlesWebhooks && admission !== undefined
      ? DEFINITIONS.flatMap((feature) => feature.reviewedWrites?.(loaded.configuration) ?? [])
      : [];
  const reviewPathOf = createReviewPaths(writes);
  const options = { queueTimeout: upstream.timeouts.response, tenantQueue: limits.tenantQueue };
  const reviewedWrites =
    reviewPathOf &&
    generation.component(REVIEWED_WRITES, {
      fingerprint: [writes, options, facts],
      create: () =>
        createReviewedWritePermits({
          ...runtime,
          ...options,
          pathOf(method, target) {
            if (method === 'GET' || method === 'HEAD') return undefined;
            const info = readRequestInfo(method, target, facts);
            return info.isResourceRequest ? reviewPathOf(method, info) : undefined;
          },
        }),
    });
  return { reviewedWrites, reviewPathOf };
}

/** @param passThrough whether there are requests with a client's own token */
function upstreamOptions(
  loaded: LoadedStonegate,
  credential: UpstreamConfiguration['credential'],
  passThrough: boolean,
) {
  const { upstream, server, limits } = loaded.configuration;
  return {
    ...addressOf(loaded, upstream),
    credential: credentialOf(loaded, credential),
    passThrough,
    timeouts: { ...upstream.timeouts, body: server.timeouts.body },
    maxBodyBytes: server.limits.bodyBytes,
    limits: { tenantQueue: limits.tenantQueue, sources: limits.unknownCredentials.concurrent },
  };
}

/** Limits in a process that serves only the admission webhook: its requests are short reviews. */
const ADMISSION_UPSTREAM = {
  passThrough: false,
  maxBodyBytes: 1024 * 1024,
  limits: { tenantQueue: { requests: 256, bytes: TENANT_QUEUE_BYTES }, sources: 1 },
};
/** Milliseconds; without a body that is streamed it is never used. */
const BODY_TIMEOUT = 60_000;

/** @returns undefined if the configuration has no section `upstream` */
export function createAdmissionUpstream({
  generation,
  loaded,
  runtime,
}: AdmissionBuild): Handle<Upstream> | undefined {
  const { upstream } = loaded.configuration;
  if (upstream === undefined) return undefined;
  const options = {
    ...ADMISSION_UPSTREAM,
    ...addressOf(loaded, upstream),
    credential: credentialOf(loaded, upstream.credential),
    timeouts: { ...upstream.timeouts, body: BODY_TIMEOUT },
  };
  return generation.component(OWN_UPSTREAM, {
    fingerprint: [upstream, options],
    create: () => createUpstream({ ...runtime, ...options }),
  });
}

type Files = Pick<LoadedStonegate, 'file'>;

function addressOf({ file }: Files, { server, caFile }: UpstreamConfiguration) {
  return { server, ...(caFile !== undefined && { ca: file(caFile) }) };
}

function credentialOf({ file }: Files, credential: UpstreamConfiguration['credential']): UpstreamCredential {
  return 'tokenFile' in credential
    ? { token: file(credential.tokenFile).toString('utf8').trim() }
    : { cert: file(credential.certFile), key: file(credential.keyFile) };
}

/** Stonegate's own credential at the API server, which may impersonate users. */
export function ownCredential(loaded: LoadedStonegate): UpstreamCredential {
  return credentialOf(loaded, loaded.configuration.upstream.credential);
}

interface OwnRights {
  readonly rights: PolledUpstreamRights;
  /**
   * Equal for the same API server, the same files of the credential, whatever they contain, and the same
   * questions.
   */
  readonly subject: string;
}

const OWN_RIGHTS = new ComponentType<OwnRights>("Stonegate's own rights", {
  start: ({ rights }) => rights.start(),
  dispose: ({ rights }) => rights.stop(),
});

/**
 * With a renewed credential the known rights stay in force until the API server has been asked again.
 *
 * @param fetcher with Stonegate's own credential
 */
export function createOwnRights(
  { generation, loaded, runtime }: StonegateBuild,
  fetcher: Handle<Upstream>,
): PolledUpstreamRights {
  const { authentication, tenancy, upstream } = loaded.configuration;
  const optionalKeys = optionalExtraKeysOf(authentication);
  const mayBeConstrained = tenancy.facts.mayConstrainImpersonation;
  const subject = JSON.stringify([upstream.server, upstream.credential, optionalKeys, mayBeConstrained]);
  const { rights } = generation.component(OWN_RIGHTS, {
    fingerprint: [optionalKeys, mayBeConstrained],
    uses: [fetcher],
    create(previous) {
      const known = previous.find((other) => other.subject === subject)?.rights;
      const options = { ...runtime, fetcher, optionalKeys, mayBeConstrained, ...(known && { known }) };
      return { rights: new PolledUpstreamRights(options), subject };
    },
  });
  return rights;
}
