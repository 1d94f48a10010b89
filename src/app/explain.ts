/**
 * What `stonegate explain --config` needs of the composition root: the pipeline of the configuration, for one
 * question. Keystone, issuers and the API server are really asked; what replicas share in Redis is neither read nor
 * written, so that the answer is of now.
 */

import type { Explanation, ExplanationRequest } from '../api/stonegate-v1alpha1.ts';
import type { CommandIO } from '../cli/command.ts';
import { explain } from '../cli/explain.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import { systemClock } from '../lib/clock.ts';
import type { LogFields, Logger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { redact } from '../lib/redact.ts';
import { noTelemetry } from '../lib/telemetry.ts';
import type { RequestObserver } from '../pipeline/ports.ts';
import { Adapters } from './adapters.ts';
import type { Surroundings } from './made-of.ts';
import { pipelineOf } from './pipeline-of.ts';

const NOBODY: RequestObserver = { requestReceived() {}, responseStarted() {}, responseComplete() {} };

/** @param argv what follows `explain` */
export function explainCommand(argv: readonly string[], io: CommandIO): Promise<number> {
  return explain(argv, io, { explainWith, env: process.env });
}

/** @param note what the parts would log, a line each */
async function explainWith(
  loaded: LoadedConfiguration,
  spec: ExplanationRequest['spec'],
  note: (line: string) => void,
): Promise<Explanation> {
  const surroundings: Surroundings = {
    clock: systemClock,
    random: systemRandom,
    logger: notingLogger(note),
    telemetry: noTelemetry,
  };
  const adapters = new Adapters(surroundings);
  try {
    const streams = new StreamRegistry({ ...surroundings, limits: loaded.configuration.limits.streams });
    const built = pipelineOf(withoutSharedCache(loaded), adapters, surroundings, NOBODY, streams);
    adapters.commit();
    await adapters
      .upstreamRights(loaded)
      .ask()
      .catch((error: unknown) =>
        note(redact(`Stonegate could not ask for its own rights: ${String(error)}`)),
      );
    return await built.explain(spec, { peerAddress: undefined, signal: new AbortController().signal });
  } finally {
    await adapters.close();
  }
}

function withoutSharedCache(loaded: LoadedConfiguration): LoadedConfiguration {
  const { redis: _redis, ...cache } = loaded.configuration.cache;
  return { ...loaded, configuration: { ...loaded.configuration, cache } };
}

/** Of the lesser lines only those that say why. */
function notingLogger(note: (line: string) => void): Logger {
  const say = (fields: LogFields, message: string) => {
    const why = fields.reason ?? fields.failure ?? fields.status;
    note(redact(`${message}${why === undefined ? '' : `: ${String(why)}`}`));
  };
  return {
    debug() {},
    info: (fields, message) => (fields.reason === undefined ? undefined : say(fields, message)),
    warn: say,
    error: say,
  };
}
