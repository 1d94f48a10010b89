/**
 * `stonegate manifests`: prints rights, custom resources, roles, and what the admission webhook needs.
 */

import { X509Certificate } from 'node:crypto';
import {
  type CommandIO,
  createCommand,
  FLAG,
  type OptionValues,
  refuseWords,
  UsageError,
  VALUE,
} from '../../cli/command.ts';
import { configurationError } from '../../cli/configuration-file.ts';
import { manifest, manifestText, type Subject } from '../../cli/rbac-objects.ts';
import { checkContent } from '../../config/content-checks.ts';
import type { UpstreamConfiguration } from '../../config/core-configuration.ts';
import { type LoadSources, systemSources } from '../../config/load.ts';
import { ownClusterRoles } from '../../features/bindings/rights.ts';
import { definitionOf } from '../../kubernetes/custom-resource.ts';
import { CREDENTIAL_ID_KEY, labelProblem } from '../../kubernetes/reserved-names.ts';
import { holdAll } from '../../kubernetes/right.ts';
import { reasonOf } from '../../lib/file-errors.ts';
import { certificateBlocks } from '../../lib/transport-security.ts';
import { isPrintable } from '../../lib/untrusted-text.ts';
import { TENANCY_MODE_NAMES, type TenancyFacts, type TenancyModeName } from '../../tenancy/facts.ts';
import {
  DEFINITIONS,
  defaultConfiguration,
  readStonegate,
  type StonegateConfiguration,
} from '../configuration.ts';
import { admissionManifests } from './admission-manifests.ts';
import { provisionerManifests } from './provisioner-manifests.ts';
import { configMapManifests, rbacManifests } from './rbac-manifests.ts';

const USAGE = `Usage: stonegate manifests rbac (--config FILE | --mode arktos|shared)
           [--service-account NAMESPACE/NAME | --user NAME]
           [--constrained | --provisioner] [--name NAME]

Prints the ClusterRole, its binding and the place of the credential, for:
kubectl apply -f -

  --config FILE            take tenancy mode, extra keys and the credential's
                           user from this configuration
  --mode MODE              arktos or shared, with every key Keystone tokens need
  --service-account NS/N   Stonegate is this service account (shared:
                           stonegate/stonegate)
  --user NAME              Stonegate is this user, by client certificate
                           (arktos: stonegate)
  --constrained            grant only constrained impersonation (shared mode,
                           Kubernetes 1.36 or newer)
  --provisioner            instead, what provisioning needs
                           (stonegate/stonegate-provisioner,
                           stonegate-provisioner)
  --name NAME              a part of the roles' names, for one of several
                           configurations with this credential: without it the
                           last that is applied takes the others' rights
  --help                   this text

stonegate manifests crds [--config FILE | --mode MODE] prints the custom
resources of quotas, access tokens, teams and invitations and, in arktos mode
(the default), of cross-tenant policies and administrations.
stonegate manifests roles, with the same options, prints the ClusterRoles that
members can have, for where "stonegate sync" does not create them.
stonegate manifests admission prints what the admission webhook needs: see its
own --help.

Exit codes: 0 fine, 1 the configuration is not good, 2 wrong usage.
`;

const OPTIONS = {
  config: VALUE,
  mode: { type: 'string', choices: TENANCY_MODE_NAMES },
  'service-account': VALUE,
  user: VALUE,
  constrained: FLAG,
  provisioner: FLAG,
  name: VALUE,
} as const;

const COMMAND = { usage: USAGE, options: OPTIONS, words: ['rbac', 'crds', 'roles', 'admission'] } as const;

/** Stonegate's default names at the API server. */
type SubjectName = 'stonegate' | 'stonegate-provisioner';

interface Needs {
  readonly configuration: StonegateConfiguration;
  /** Extra keys beside those that the configuration names. */
  readonly extraKeys: readonly string[];
  readonly credentials: Readonly<Record<SubjectName, UpstreamConfiguration['credential'] | undefined>>;
}

/** @param argv what follows `manifests` */
export function manifests(
  argv: readonly string[],
  io: CommandIO,
  sources: LoadSources = systemSources,
): Promise<number> {
  if (argv[0] === 'admission') return admissionManifests(argv.slice(1), io, sources);
  return rbacAndDefinitions(argv, io, sources);
}

const rbacAndDefinitions = createCommand(
  COMMAND,
  async ({ values, words, note, io }, sources: LoadSources) => {
    const [what, ...more] = words;
    refuseWords(more);
    if (what === 'crds' || what === 'roles') {
      const { user, provisioner, constrained, name, 'service-account': serviceAccount } = values;
      if ([user, provisioner, constrained, name, serviceAccount].some((value) => value !== undefined))
        throw new UsageError(`manifests ${what} takes only --config or --mode`);
      const { facts } = (await needsOfOptions(values, sources, 'arktos')).configuration.tenancy;
      io.stdout(what === 'crds' ? definitionsText(facts) : rolesText(facts));
      return;
    }
    if (what !== 'rbac')
      throw new UsageError(
        'expected: manifests rbac, manifests crds, manifests roles, or manifests admission',
      );
    const needs = await needsOfOptions(values, sources);
    const { configuration, extraKeys } = needs;
    const suffix = suffixOf(values.name);
    const { constrained = false, provisioner = false } = values;
    if (constrained && (provisioner || !configuration.tenancy.facts.mayConstrainImpersonation))
      throw new UsageError('--constrained goes with tenancy mode shared, and not with --provisioner');
    const name = provisioner ? 'stonegate-provisioner' : 'stonegate';
    const subject = subjectOf(values) ?? (await subjectOfCredential(needs, name, sources, note));
    if (provisioner) {
      io.stdout(provisionerManifests(configuration, subject, suffix));
      return;
    }
    io.stdout(rbacManifests(configuration, subject, { suffix, constrained, extraKeys }));
    const configMaps = configMapManifests(configuration, subject, suffix);
    if (configMaps.length > 0) io.stdout(`---\n${manifestText(configMaps)}`);
  },
);

/** @throws UsageError */
function suffixOf(name: string | undefined): string {
  if (name === undefined) return '';
  const problem = labelProblem(name);
  if (problem !== undefined) throw new UsageError(`--name ${problem}`);
  return `-${name}`;
}

/** @param otherwise the tenancy mode if no option says it */
async function needsOfOptions(
  { config, mode }: OptionValues<typeof OPTIONS>,
  sources: LoadSources,
  otherwise?: TenancyModeName,
): Promise<Needs> {
  if (config !== undefined && mode === undefined) return needsOfFile(config, sources);
  const chosen = TENANCY_MODE_NAMES.find((name) => name === (mode ?? otherwise));
  if (config !== undefined || chosen === undefined)
    throw new UsageError('expected either --config or --mode');
  return needsOfMode(chosen);
}

function definitionsText(facts: TenancyFacts): string {
  const where = facts.operatorIsATenant ? ', for the system tenant: apply as an administrator of it' : '';
  const stored = DEFINITIONS.flatMap(({ storedKinds = [] }) => storedKinds);
  const definitions = stored
    .filter(({ modes = [] }) => holdAll(modes, facts))
    .map(({ definition }) => manifest(definitionOf(definition)));
  return `# Custom resources of Stonegate${where}.\n${manifestText(definitions)}`;
}

function rolesText(facts: TenancyFacts): string {
  const where = facts.hasTenantsInPaths ? ', for each tenant: apply as an administrator of it' : '';
  const roles = ownClusterRoles(facts).map(manifest);
  return `# Roles of Stonegate, as "stonegate sync" creates them${where}.\n${manifestText(roles)}`;
}

function needsOfMode(mode: TenancyModeName): Needs {
  const authentication = { keystone: { url: 'https://keystone.example.com/v3' } };
  const configuration = defaultConfiguration({ tenancy: { mode }, authentication });
  const credentials = { stonegate: undefined, 'stonegate-provisioner': undefined };
  return { configuration, extraKeys: [CREDENTIAL_ID_KEY], credentials };
}

/**
 * Reads only the AuthenticationConfiguration of the files that it names, for its extra keys. The credential
 * may not exist before these manifests are applied.
 */
async function needsOfFile(file: string, sources: LoadSources): Promise<Needs> {
  const { configuration, problems } = await readStonegate(file, sources);
  if (configuration === undefined || problems.length > 0) throw configurationError(file, problems);
  const { upstream, bindings } = configuration;
  const credentials = { stonegate: upstream.credential, 'stonegate-provisioner': bindings.credential };
  return { configuration, extraKeys: [], credentials };
}

/** @returns undefined if the options say nothing and the tenancy mode does not decide */
function subjectOf({
  user,
  'service-account': serviceAccount,
}: OptionValues<typeof OPTIONS>): Subject | undefined {
  if (user !== undefined && serviceAccount !== undefined) {
    throw new UsageError('expected either --service-account or --user');
  }
  if (user !== undefined) {
    if (!isPrintable(user)) throw new UsageError('--user expects a name without control characters');
    return { kind: 'User', name: user };
  }
  if (serviceAccount === undefined) return undefined;
  const [, namespace, name] = /^([a-z0-9-]+)\/([a-z0-9.-]+)$/.exec(serviceAccount) ?? [];
  if (namespace === undefined || name === undefined) {
    throw new UsageError('--service-account expects NAMESPACE/NAME');
  }
  return { kind: 'ServiceAccount', namespace, name };
}

/**
 * The subject that the credential in the configuration belongs to: the user of a client certificate, which
 * is the common name, else a service account. On Arktos it is always a user.
 *
 * @param name of the subject if the configuration does not say it
 * @throws Error if the certificate names no user
 */
async function subjectOfCredential(
  { configuration: { tenancy }, credentials }: Needs,
  name: SubjectName,
  { readFile }: LoadSources,
  note: (line: string) => void,
): Promise<Subject> {
  const credential = credentials[name];
  if (credential === undefined || !('certFile' in credential))
    return tenancy.facts.runsInCluster
      ? { kind: 'ServiceAccount', namespace: 'stonegate', name }
      : { kind: 'User', name };
  const { certFile } = credential;
  const field = `${name === 'stonegate' ? 'upstream' : 'bindings'}.credential.certFile`;
  let content: Buffer;
  try {
    content = await readFile(certFile);
  } catch (error) {
    note(
      `${field}: found ${reasonOf(error)}: ${certFile}; the binding is for the user "${name}": issue the certificate with this common name, or use --user NAME`,
    );
    return { kind: 'User', name };
  }
  const user = commonNameOf(content);
  if (user !== undefined) return { kind: 'User', name: user };
  throw new Error(`${field}: ${certFile} holds no client certificate with one common name: use --user NAME`);
}

/** The user of the first certificate, as the API server reads it. */
function commonNameOf(pem: Buffer): string | undefined {
  const [leaf] = certificateBlocks(pem);
  if (leaf === undefined || checkContent('certificate', pem) !== undefined) return undefined;
  const { CN } = new X509Certificate(leaf).toLegacyObject().subject;
  return typeof CN === 'string' && isPrintable(CN) ? CN : undefined;
}
