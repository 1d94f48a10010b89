/**
 * `stonegate publish`: one run of publishing, or its plan. It sends its own requests to the API server; no
 * serving process is needed.
 */
import { createCommand, FLAG, VALUE } from '../../cli/command.ts';
import { createCommandPublishing } from '../../features/publishing/build.ts';
import { loadedStonegate } from '../configuration.ts';
import { FEATURES } from '../features.ts';
import { createUpstreams } from '../upstream.ts';
import { runReconciler } from './run-reconciler.ts';
import { withComponents } from './with-components.ts';

const USAGE = `Usage: stonegate publish --config FILE [--dry-run] [--remove]

Copies the objects that the annotation multi-tenancy.k8s.io/published selects
into the tenants, puts right what has drifted, and deletes copies that no object
asks for any more. What is no copy is never touched, unless the published object
says so.

  --config FILE   the configuration: its publishing, with bindings.credential
  --dry-run       only print what would be done, as a table
  --remove        delete all copies instead, of the kinds in the configuration
  --help          this text

Exit codes: 0 done, or printed, whatever there is to do; 1 something failed;
2 wrong usage.
`;

const OPTIONS = {
  config: VALUE,
  'dry-run': FLAG,
  remove: FLAG,
} as const;

export const publish = createCommand({ usage: USAGE, options: OPTIONS }, async ({ values, io }) => {
  const { config, 'dry-run': dryRun = false, remove = false } = values;
  const loaded = await loadedStonegate(config);
  if (loaded.configuration.publishing === undefined && !remove)
    throw new Error('the configuration has no publishing; --remove deletes the copies of a former one');
  return withComponents(loaded, async (build) => {
    const { provisioningUpstream } = createUpstreams(build);
    if (provisioningUpstream === undefined)
      throw new Error(
        'bindings.credential is required: a credential that impersonates must not also grant rights',
      );
    return runReconciler(
      {
        ...createCommandPublishing(
          FEATURES.publishing.reads(loaded.configuration, loaded),
          provisioningUpstream,
          remove,
        ),
        dryRun,
      },
      io,
    );
  });
});
