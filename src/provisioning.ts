/**
 * The API server as provisioning reaches it: by a connection and a credential of its own, never the impersonator's.
 */
import type { UpstreamCredential } from './api/config-v1alpha1.ts';
import type { LoadedConfiguration } from './config/load.ts';
import { fingerprintOf, type Surroundings, upstreamCredential } from './made-of.ts';
import { createUpstream, type Upstream } from './upstream/upstream.ts';

/** @returns what it is made of, and what makes it */
export function provisioningOf(
  loaded: LoadedConfiguration,
  configured: UpstreamCredential,
  around: Surroundings,
): { readonly madeOf: string; build(): Upstream } {
  const { upstream, server } = loaded.configuration;
  const credential = upstreamCredential(loaded, configured);
  const ca = upstream.caFile === undefined ? {} : { ca: loaded.file(upstream.caFile) };
  const timeouts = { ...upstream.timeouts, body: server.timeouts.body };
  const maxBodyBytes = server.limits.bodyBytes;
  return {
    madeOf: fingerprintOf(upstream.server, credential, ca, timeouts, maxBodyBytes),
    build: () =>
      createUpstream({ ...around, server: upstream.server, ...ca, credential, timeouts, maxBodyBytes }),
  };
}
