/**
 * The components of `stonegate explain --config`: the configured proxy, built for one explanation.
 * It sends requests to Keystone, issuers and the API server, and does not use Redis, so that the
 * explanation is not from a cache.
 */

import type { ExplainWith } from '../../cli/explain.ts';
import { Generations } from '../../config/generation.ts';
import type { PolicyUpdates } from '../../features/cross-tenant/policy-updates.ts';
import type { Explain } from '../../features/explain/explain-request.ts';
import type { Memberships } from '../../features/teams/memberships.ts';
import type { PolledUpstreamRights } from '../../kubernetes/upstream-rights.ts';
import { waitUntil } from '../../lib/clock.ts';
import type { LogFields, Logger } from '../../lib/logger.ts';
import { commandRuntime } from '../../lib/runtime.ts';
import { redact } from '../../lib/untrusted-text.ts';
import { ResponseMemory } from '../../limits/response-memory.ts';
import type { RequestObserver } from '../../observability/request-observer.ts';
import { StreamRegistry } from '../../proxy/streams/stream-registry.ts';
import { POLICY_FORMS } from '../../proxy/tenant-entry.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import { withBackends } from '../backends.ts';
import { type LoadedStonegate, loadedStonegate } from '../configuration.ts';
import { createProxy } from '../proxy.ts';

const IGNORED: RequestObserver = { requestReceived() {}, responseStarted() {}, responseComplete() {} };

/** Milliseconds for which the RBAC index and the policies are waited for: a serving Stonegate has them. */
const INDEX_TIMEOUT = 20_000;

interface Explaining {
  readonly explainRequest: Explain;
  /** Undefined if the configuration has no index. */
  readonly access: AccessIndex | undefined;
  readonly rights: PolledUpstreamRights;
  /** Undefined if the configuration has no teams. */
  readonly memberships: Memberships | undefined;
  /** Undefined if the configuration has no policies. */
  readonly updates: PolicyUpdates | undefined;
}

export const explainWith: ExplainWith = async (file, spec, note) => {
  const loaded = await loadedStonegate(file);
  const runtime = commandRuntime(notingLogger(note));
  const generations = new Generations<Explaining>(runtime.logger);
  try {
    const streams = new StreamRegistry({ ...runtime, limits: loaded.configuration.limits.streams });
    generations.replace((generation) => {
      const build = withBackends({ loaded: withoutSharedCache(loaded), runtime, generation }, true);
      const { features } = createProxy(build, {
        observer: IGNORED,
        startedAt: runtime.clock.now(),
        streams,
        responseMemory: new ResponseMemory(),
        isOperator: true,
      });
      const { explain: explainRequest, asUser, access, memberships, policies } = features;
      const { upstreamRights: rights } = asUser;
      return { explainRequest, rights, access, memberships, updates: policies?.updates };
    });
    generations.start();
    const { explainRequest, rights, access, memberships, updates } = generations.current;
    const isKnown = () =>
      access?.index.isSynced !== false &&
      memberships?.isCurrent() !== false &&
      (updates === undefined || isCurrent(updates));
    await Promise.all([
      // An index that is not complete by then is a warning of the explanation.
      waitUntil(isKnown, runtime.clock, INDEX_TIMEOUT),
      rights
        .ask()
        .catch((error: unknown) =>
          note(redact(`Stonegate could not ask for its own rights: ${String(error)}`)),
        ),
    ]);
    return await explainRequest(spec, { peerAddress: undefined, signal: new AbortController().signal });
  } finally {
    await generations.close();
  }
};

function isCurrent({ snapshot }: PolicyUpdates): boolean {
  return POLICY_FORMS.every((form) => snapshot?.forms.has(form));
}

function withoutSharedCache(loaded: LoadedStonegate): LoadedStonegate {
  const { redis: _redis, ...cache } = loaded.configuration.cache;
  return { ...loaded, configuration: { ...loaded.configuration, cache } };
}

/** Passes on warnings and errors; lines of lower levels only if they have a reason. */
function notingLogger(note: (line: string) => void): Logger {
  const noteLine = (fields: LogFields, message: string) => {
    const reason = fields.reason ?? fields.failure ?? fields.status;
    note(redact(`${message}${reason === undefined ? '' : `: ${String(reason)}`}`));
  };
  return {
    debug() {},
    info: (fields, message) => (fields.reason === undefined ? undefined : noteLine(fields, message)),
    warn: noteLine,
    error: noteLine,
  };
}
