/**
 * `stonegate manifests rbac`: the rights that Stonegate needs at the API server for impersonation, and no
 * others. Each extra key is listed, because RBAC has no `userextras/*`.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */

import { X509Certificate } from 'node:crypto';
import type {
  ConfigMapReference,
  StonegateConfiguration,
  UpstreamConfiguration,
} from '../config/configuration.ts';
import { checkContent } from '../config/content-checks.ts';
import { type LoadSources, readConfiguration, systemSources } from '../config/load.ts';
import { parseConfiguration } from '../config/parse.ts';
import { optionalExtraKeysOf } from '../config/validate-names.ts';
import { ownClusterRoles } from '../features/bindings/rights.ts';
import { enabledPolicies, hasPolicies } from '../features/cross-tenant/enabled-policies.ts';
import { CROSS_TENANT_POLICIES, TENANT_ADMINISTRATIONS } from '../features/cross-tenant/tenancy-v1alpha1.ts';
import { STORED_INVITATIONS } from '../features/invitations/invitation-v1alpha1.ts';
import { TENANT_QUOTAS } from '../features/quota/tenant-quota-v1alpha1.ts';
import { TEAMS } from '../features/teams/team-v1alpha1.ts';
import { STORED_TOKENS } from '../features/tokens/access-token-v1alpha1.ts';
import { definitionOf } from '../kubernetes/custom-resource.ts';
import { CREDENTIAL_ID_KEY, labelProblem } from '../kubernetes/reserved-names.ts';
import { reasonOf } from '../lib/file-errors.ts';
import { certificateBlocks } from '../lib/transport-security.ts';
import { isPrintable } from '../lib/untrusted-text.ts';
import { admissionManifests } from './admission-manifests.ts';
import { type CommandIO, createCommand, type OptionValues, refuseWords, UsageError } from './command.ts';
import { configurationError } from './configuration-file.ts';
import { type ProvisionerNeeds, provisionerManifests } from './provisioner-manifests.ts';
import { configMapManifests, type ImpersonationNeeds, rbacManifests } from './rbac-manifests.ts';
import { manifest, manifestText, type Subject } from './rbac-objects.ts';

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

const OF_BOTH_MODES = [TENANT_QUOTAS, STORED_TOKENS, TEAMS, STORED_INVITATIONS];
/** The custom resources of each tenancy mode. */
export const DEFINITIONS = {
  arktos: [CROSS_TENANT_POLICIES, TENANT_ADMINISTRATIONS, ...OF_BOTH_MODES],
  shared: OF_BOTH_MODES,
};

const OPTIONS = {
  config: { type: 'string' },
  mode: { type: 'string', choices: ['arktos', 'shared'] },
  'service-account': { type: 'string' },
  user: { type: 'string' },
  constrained: { type: 'boolean' },
  provisioner: { type: 'boolean' },
  name: { type: 'string' },
} as const;

const COMMAND = { usage: USAGE, options: OPTIONS, words: ['rbac', 'crds', 'roles', 'admission'] } as const;

/** Stonegate's default names at the API server. */
type SubjectName = 'stonegate' | 'stonegate-provisioner';

interface Needs extends ImpersonationNeeds, ProvisionerNeeds {
  readonly mode: ImpersonationNeeds['mode'];
  /** The ConfigMaps with the webhook's rules. */
  readonly configMaps: readonly ConfigMapReference[];
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
      const { mode } = await needsOfOptions(values, sources, 'arktos');
      io.stdout(what === 'crds' ? definitionsText(mode) : rolesText(mode));
      return;
    }
    if (what !== 'rbac')
      throw new UsageError(
        'expected: manifests rbac, manifests crds, manifests roles, or manifests admission',
      );
    const needs = { ...(await needsOfOptions(values, sources)), suffix: suffixOf(values.name) };
    const { constrained = false, provisioner = false } = values;
    if (constrained && (provisioner || needs.mode !== 'shared'))
      throw new UsageError('--constrained goes with tenancy mode shared, and not with --provisioner');
    const name = provisioner ? 'stonegate-provisioner' : 'stonegate';
    const subject = subjectOf(values) ?? (await subjectOfCredential(needs, name, sources, note));
    if (provisioner) {
      io.stdout(provisionerManifests(needs, subject));
      return;
    }
    io.stdout(rbacManifests({ ...needs, constrained }, subject));
    const configMaps = configMapManifests(needs, subject);
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
  otherwise?: Needs['mode'],
): Promise<Needs> {
  if (config !== undefined && mode === undefined) return needsOfFile(config, sources);
  const chosen = mode ?? otherwise;
  if (config !== undefined || chosen === undefined)
    throw new UsageError('expected either --config or --mode');
  return needsOfMode(chosen === 'shared' ? chosen : 'arktos');
}

function definitionsText(mode: Needs['mode']): string {
  const where = mode === 'arktos' ? ', for the system tenant: apply as an administrator of it' : '';
  const definitions = DEFINITIONS[mode].map((resource) => manifest(definitionOf(resource)));
  return `# Custom resources of Stonegate${where}.\n${manifestText(definitions)}`;
}

function rolesText(mode: Needs['mode']): string {
  const where = mode === 'arktos' ? ', for each tenant: apply as an administrator of it' : '';
  const roles = ownClusterRoles(mode).map(manifest);
  return `# Roles of Stonegate, as "stonegate sync" creates them${where}.\n${manifestText(roles)}`;
}

function needsOfMode(mode: Needs['mode']): Needs {
  return {
    mode,
    keystone: true,
    extraKeys: [CREDENTIAL_ID_KEY],
    configMaps: [],
    credentials: { stonegate: undefined, 'stonegate-provisioner': undefined },
    createRoles: true,
    targets: [],
  };
}

/**
 * Reads only the AuthenticationConfiguration of the files that it names, for its extra keys. The credential
 * may not exist before these manifests are applied.
 */
async function needsOfFile(file: string, sources: LoadSources): Promise<Needs> {
  const { configuration, problems } = await readConfiguration(file, sources, parseConfiguration);
  if (configuration === undefined || problems.length > 0) throw configurationError(file, problems);
  return needsOf(configuration);
}

/** What Stonegate needs for everything that is configured. */
export function needsOf(configuration: StonegateConfiguration): Needs {
  const { tenancy, authentication, upstream, bindings, publishing, webhook, access, quota, tokens, members } =
    configuration;
  const policies = enabledPolicies(configuration);
  return {
    mode: tenancy.mode,
    keystone: authentication.keystone !== undefined,
    tokenReview: authentication.tokenReview !== undefined,
    index: access.index,
    quota: quota !== undefined,
    projectQuotas: quota?.keystoneLimits !== undefined,
    countedKinds: quota?.count,
    tokens: tokens !== undefined,
    members: members !== undefined,
    policies,
    grantable: hasPolicies(policies) ? access.grantable : undefined,
    publishing: publishing && { configuration: publishing, grantable: access.grantable },
    extraKeys: [
      ...optionalExtraKeysOf(authentication),
      ...authentication.jwt.flatMap(({ claimMappings }) => claimMappings.extra.map(({ key }) => key)),
      ...authentication.impersonationExtraKeys,
    ],
    configMaps: [webhook?.policy, webhook?.sync].flatMap((source) =>
      source !== undefined && 'configMap' in source ? [source.configMap] : [],
    ),
    credentials: { stonegate: upstream.credential, 'stonegate-provisioner': bindings.credential },
    createRoles: bindings.createRoles,
    targets: [bindings, ...Object.values(bindings.projects), ...Object.values(bindings.domains)].flatMap(
      ({ roles = {} }) => Object.values(roles),
    ),
  };
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
  { mode, credentials }: Needs,
  name: SubjectName,
  { readFile }: LoadSources,
  note: (line: string) => void,
): Promise<Subject> {
  const credential = credentials[name];
  if (credential === undefined || !('certFile' in credential))
    return mode === 'arktos'
      ? { kind: 'User', name }
      : { kind: 'ServiceAccount', namespace: 'stonegate', name };
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
