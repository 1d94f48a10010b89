/**
 * Connections to the API server, and what Stonegate's own credential may impersonate there.
 */

import { ComponentType, type Handle } from '../config/component.ts';
import type { UpstreamConfiguration } from '../config/core-configuration.ts';
import { optionalExtraKeysOf } from '../config/validate-names.ts';
import { PolledUpstreamRights } from '../kubernetes/upstream-rights.ts';
import { TENANT_QUEUE_BYTES } from '../limits/memory-bounds.ts';
import type { UpstreamCredential } from '../upstream/credential.ts';
import { createUpstream, type Upstream } from '../upstream/upstream.ts';
import type { AdmissionBuild, LoadedStonegate, StonegateBuild } from './configuration.ts';
import { createConfiguredReviewedWrites } from './reviewed-writes.ts';

/** It is disposed when its last watch or tunnel has ended, which may take days. */
const OWN_UPSTREAM = new ComponentType<Upstream>('connections to the API server', {
  dispose: (upstream) => upstream.close(),
  destroy: (upstream) => upstream.destroy(),
});

/** Connections with Stonegate's own credential. */
export function createOwnUpstream(build: StonegateBuild): Handle<Upstream> {
  const { generation, loaded, runtime } = build;
  const { upstream, authentication } = loaded.configuration;
  const options = upstreamOptions(loaded, upstream.credential, authentication.tokenReview !== undefined);
  const reviewedWrites = createConfiguredReviewedWrites(build);
  return generation.component(OWN_UPSTREAM, {
    fingerprint: [upstream, options],
    uses: [reviewedWrites],
    create: () => createUpstream({ ...runtime, ...options, reviewedWrites }),
  });
}

/**
 * Options for connections to the API server.
 *
 * @param passThrough whether there are requests with a client's own token
 */
function upstreamOptions(
  loaded: LoadedStonegate,
  credential: UpstreamConfiguration['credential'],
  passThrough: boolean,
) {
  const { upstream, server, limits } = loaded.configuration;
  return {
    server: upstream.server,
    ...(upstream.caFile !== undefined && { ca: loaded.file(upstream.caFile) }),
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
    server: upstream.server,
    ...(upstream.caFile !== undefined && { ca: loaded.file(upstream.caFile) }),
    credential: credentialOf(loaded, upstream.credential),
    timeouts: { ...upstream.timeouts, body: BODY_TIMEOUT },
  };
  return generation.component(OWN_UPSTREAM, {
    fingerprint: [upstream, options],
    create: () => createUpstream({ ...runtime, ...options }),
  });
}

function credentialOf(
  loaded: Pick<LoadedStonegate, 'file'>,
  credential: UpstreamConfiguration['credential'],
): UpstreamCredential {
  return 'tokenFile' in credential
    ? { token: loaded.file(credential.tokenFile).toString('utf8').trim() }
    : { cert: loaded.file(credential.certFile), key: loaded.file(credential.keyFile) };
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

/** With a renewed credential the known rights stay in force until the API server has been asked again. */
export function createOwnRights(build: StonegateBuild): PolledUpstreamRights {
  const { generation, loaded, runtime } = build;
  const { authentication, tenancy, upstream } = loaded.configuration;
  const optionalKeys = optionalExtraKeysOf(authentication);
  const mayBeConstrained = tenancy.facts.mayConstrainImpersonation;
  const subject = JSON.stringify([upstream.server, upstream.credential, optionalKeys, mayBeConstrained]);
  const fetcher = createOwnUpstream(build);
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

const PROVISIONING_UPSTREAM = new ComponentType<Upstream>('connections that provision', {
  dispose: (upstream) => upstream.destroy(),
});

/** @returns undefined if the configuration names no credential to provision with */
export function createProvisioningUpstream(build: StonegateBuild): Handle<Upstream> | undefined {
  const { loaded, generation, runtime } = build;
  const { bindings, upstream } = loaded.configuration;
  if (bindings.credential === undefined) return undefined;
  const options = upstreamOptions(loaded, bindings.credential, false);
  const reviewedWrites = createConfiguredReviewedWrites(build);
  return generation.component(PROVISIONING_UPSTREAM, {
    fingerprint: [upstream, options],
    uses: [reviewedWrites],
    create: () => createUpstream({ ...runtime, ...options, reviewedWrites }),
  });
}
