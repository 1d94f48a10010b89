/**
 * `stonegate manifests rbac`: what the API server must be given so that Stonegate may impersonate, and nothing more.
 * Each extra key is named, since RBAC knows no `userextras/*`.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */
import { dirname, resolve } from 'node:path';
import type { ConfigMapReference, StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { type LoadSources, systemSources } from '../config/load.ts';
import { parseWithAuthenticationFile } from '../config/parse.ts';
import { formatProblem } from '../config/problem.ts';
import { configMapManifests } from './config-map-manifests.ts';
import { type ProvisionerNeeds, provisionerManifests } from './provisioner-manifests.ts';
import { type ImpersonationNeeds, type Impersonator, rbacManifests } from './rbac-manifests.ts';
import { type CommandIO, EXIT, runCommand, UsageError } from './usage.ts';

const USAGE = `Usage: stonegate manifests rbac (--config FILE | --mode arktos|shared)
                                [--service-account NAMESPACE/NAME | --user NAME] [--provisioner]

Prints the ClusterRole, its binding and the place of the credential, for: kubectl apply -f -

  --config FILE            take tenancy mode and extra keys from this configuration
  --mode MODE              arktos or shared, with every key Keystone tokens need
  --service-account NS/N   Stonegate is this service account (shared: stonegate/stonegate)
  --user NAME              Stonegate is this user, by client certificate (arktos: stonegate)
  --provisioner            instead, what provisioning needs (stonegate/stonegate-provisioner, stonegate-provisioner)
  --help                   this text

Exit codes: 0 fine, 1 the configuration is not good, 2 wrong usage.
`;

const OPTIONS = {
  config: { type: 'string' },
  mode: { type: 'string' },
  'service-account': { type: 'string' },
  user: { type: 'string' },
  provisioner: { type: 'boolean' },
} as const;

interface Needs extends ImpersonationNeeds, ProvisionerNeeds {
  readonly mode: ImpersonationNeeds['mode'];
  /** That the webhook's rules are kept in. */
  readonly configMaps: readonly ConfigMapReference[];
}

/** @param argv what follows `manifests` */
export function manifests(
  argv: readonly string[],
  io: CommandIO,
  sources: LoadSources = systemSources,
): Promise<number> {
  return runCommand({ usage: USAGE, options: OPTIONS, argv, io }, async (values, positionals) => {
    if (positionals.length !== 1 || positionals[0] !== 'rbac')
      throw new UsageError('expected: manifests rbac');
    if ((values.config === undefined) === (values.mode === undefined)) {
      throw new UsageError('expected either --config or --mode');
    }
    const needs =
      values.config === undefined
        ? needsOfMode(values.mode ?? '')
        : await needsOfFile(values.config, io, sources);
    if (needs === undefined) return EXIT.failed;
    if (values.provisioner === true) {
      const provisioner = accountOf(values, needs.mode, 'stonegate-provisioner');
      io.stdout(provisionerManifests(needs, provisioner));
      return EXIT.fine;
    }
    const impersonator = accountOf(values, needs.mode, 'stonegate');
    const documents = [
      rbacManifests(needs, impersonator),
      ...configMapManifests(needs.configMaps, impersonator),
    ];
    io.stdout(documents.join('---\n'));
    return EXIT.fine;
  });
}

function needsOfMode(mode: string): Needs {
  if (mode !== 'arktos' && mode !== 'shared') throw new UsageError('--mode is arktos or shared');
  return {
    mode,
    keystone: true,
    tokenReview: false,
    extraKeys: [],
    configMaps: [],
    createRoles: true,
    targets: [],
  };
}

/**
 * Of the files it names only an AuthenticationConfiguration is read, for the extras in it: the credential may not exist
 * before these manifests are applied.
 */
async function needsOfFile(file: string, io: CommandIO, sources: LoadSources): Promise<Needs | undefined> {
  let complete = true;
  async function read(name: string): Promise<Buffer | undefined> {
    try {
      return await sources.readFile(name);
    } catch (error) {
      io.stderr(`cannot read ${name}: ${error instanceof Error ? error.message : String(error)}\n`);
      complete = false;
      return undefined;
    }
  }
  const text = await read(resolve(file));
  if (text === undefined) return undefined;
  const { configuration, problems } = await parseWithAuthenticationFile(
    text.toString('utf8'),
    dirname(resolve(file)),
    read,
  );
  for (const problem of problems) io.stderr(`${formatProblem(problem)}\n`);
  return complete && configuration !== undefined && problems.length === 0
    ? needsOf(configuration)
    : undefined;
}

function needsOf({ tenancy, authentication, bindings, webhook }: StonegateConfiguration): Needs {
  return {
    mode: tenancy.mode,
    keystone: authentication.keystone !== undefined,
    tokenReview: authentication.tokenReview !== undefined,
    extraKeys: [
      ...authentication.jwt.flatMap(({ claimMappings }) => claimMappings.extra.map(({ key }) => key)),
      ...authentication.impersonationExtraKeys,
    ],
    configMaps: [webhook?.policy, webhook?.sync].flatMap((source) =>
      source !== undefined && 'configMap' in source ? [source.configMap] : [],
    ),
    createRoles: bindings.createRoles,
    targets: [bindings, ...Object.values(bindings.projects), ...Object.values(bindings.domains)].flatMap(
      ({ roles = {} }) => Object.values(roles),
    ),
  };
}

/** @param standard its name where none is given */
function accountOf(
  values: { readonly user?: string | undefined; readonly 'service-account'?: string | undefined },
  mode: ImpersonationNeeds['mode'],
  standard: string,
): Impersonator {
  const { user, 'service-account': serviceAccount } = values;
  if (user !== undefined && serviceAccount !== undefined) {
    throw new UsageError('expected either --service-account or --user');
  }
  if (user !== undefined || (serviceAccount === undefined && mode === 'arktos')) {
    const name = user ?? standard;
    if (!/^[\w.@-]+$/.test(name))
      throw new UsageError('--user expects a name of letters, digits and . _ @ -');
    return { kind: 'User', name };
  }
  const [, namespace, name] =
    /^([a-z0-9-]+)\/([a-z0-9.-]+)$/.exec(serviceAccount ?? `stonegate/${standard}`) ?? [];
  if (namespace === undefined || name === undefined) {
    throw new UsageError('--service-account expects NAMESPACE/NAME');
  }
  return { kind: 'ServiceAccount', namespace, name };
}
