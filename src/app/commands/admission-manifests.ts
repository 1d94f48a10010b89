/**
 * `stonegate manifests admission`: the ValidatingWebhookConfiguration of the admission webhook, the rights of
 * its own process, and, on an ordinary cluster, the Deployment of that process.
 */

import { createCommand, UsageError, VALUE } from '../../cli/command.ts';
import { configurationError } from '../../cli/configuration-file.ts';
import { readAuthority } from '../../cli/given-file.ts';
import { boundClusterRole, manifest, manifestText, type Subject } from '../../cli/rbac-objects.ts';
import type { LoadSources } from '../../config/load.ts';
import { admissionDeployment } from '../../features/admission/manifests/deployment.ts';
import { neededOf } from '../../kubernetes/right.ts';
import { isPrintable } from '../../lib/untrusted-text.ts';
import { OF_ADMISSION, readAdmission } from '../configuration.ts';

const USAGE = `Usage: stonegate manifests admission --config FILE --ca-file FILE
           [--url URL [--user NAME] | --namespace NAMESPACE]

Prints the ValidatingWebhookConfiguration of the admission webhook; if the
configuration has a section upstream, its rights at the API server; and, without
--url, the Deployment and the Service of a process that serves only the webhook,
for: kubectl apply -f -

  --config FILE       the configuration; tenancy, admission, admin, publishing,
                      quota and upstream are read
  --ca-file FILE      the CA of the webhook's certificate, PEM
  --url URL           where API servers reach the webhook, outside the cluster
                      (required in arktos mode)
  --user NAME         the user of upstream.credential, with --url
                      (stonegate-admission)
  --namespace NAME    where it runs in the cluster (stonegate)
  --help              this text

Exit codes: 0 fine, 1 the configuration is not good, 2 wrong usage.
`;

const OPTIONS = {
  config: VALUE,
  'ca-file': VALUE,
  url: VALUE,
  user: VALUE,
  namespace: VALUE,
} as const;

export const admissionManifests = createCommand(
  { usage: USAGE, options: OPTIONS },
  async ({ values, io }, sources: LoadSources) => {
    const { config, 'ca-file': caFile, url, user, namespace = 'stonegate' } = values;
    if (config === undefined || caFile === undefined)
      throw new UsageError('--config FILE and --ca-file FILE are required');
    if (url !== undefined && !/^https:\/\/[^/?#]+$/.test(url))
      throw new UsageError('--url expects an address such as https://stonegate.example.com:8446');
    if (user !== undefined && (url === undefined || !isPrintable(user)))
      throw new UsageError('--user expects a name without control characters, and goes with --url');
    const { configuration, problems } = await readAdmission(config, sources);
    if (configuration === undefined || problems.length > 0) throw configurationError(config, problems);
    if (url === undefined && !configuration.tenancy.facts.runsInCluster)
      throw new UsageError(
        '--url is required in arktos mode: the webhook runs outside the cluster or as static pods',
      );
    const { bind } = configuration.admin;
    if (url === undefined && /^(?:127\.|localhost:|\[::1\])/.test(bind))
      throw new Error(`admin.bind: probes of the Deployment cannot reach ${bind}: set 0.0.0.0:9090`);
    const ca = Buffer.from(await readAuthority('--ca-file', caFile)).toString('base64');
    const place = url === undefined ? { namespace } : { url, namespace };
    const subject: Subject =
      url === undefined
        ? { kind: 'ServiceAccount', namespace, name: 'stonegate-admission' }
        : { kind: 'User', name: user ?? 'stonegate-admission' };
    const objects = [
      ...(url === undefined ? admissionDeployment(configuration, namespace) : []),
      ...OF_ADMISSION.flatMap((feature) => feature.registrations?.(configuration, ca, place) ?? []),
    ];
    const rules = neededOf(
      OF_ADMISSION.flatMap(({ admissionRights = [] }) => admissionRights),
      configuration,
    );
    const rights =
      configuration.upstream === undefined ? [] : boundClusterRole('stonegate-admission', rules, subject);
    io.stdout(manifestText([...rights, ...objects.map(manifest)]));
  },
);
