/**
 * The components of `stonegate publish`: one run of the publishing that the configuration describes. It sends
 * its own requests to the API server; no serving process is needed.
 */

import type { CommandIO } from '../../cli/command.ts';
import { publish } from '../../cli/publish.ts';
import type { WithReconciler } from '../../cli/reconcile.ts';
import { commandRuntime } from '../../config/build.ts';
import { createCommandPublishing } from '../../features/publishing/feature.ts';
import { createProvisioningUpstream } from '../upstream.ts';

/** @param argv what follows `publish` */
export function publishCommand(argv: readonly string[], io: CommandIO): Promise<number> {
  return publish(argv, io, withPublishing);
}

const withPublishing =
  (remove: boolean): WithReconciler =>
  async (loaded, run) => {
    const upstream = createProvisioningUpstream(loaded, commandRuntime());
    try {
      if (upstream === undefined)
        throw new Error('bindings.credential is required: what impersonates must not also give rights');
      if (loaded.configuration.publishing === undefined && !remove)
        throw new Error('the configuration has no publishing; --remove deletes the copies of a former one');
      return await run(createCommandPublishing(loaded, upstream, remove));
    } finally {
      await upstream?.destroy();
    }
  };
