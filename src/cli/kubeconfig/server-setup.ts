/**
 * Learns from a server how to log in there, and whether its certificate is to be trusted. An authority that
 * is not known here is trusted only if the user confirms its fingerprint; what is used is read again then,
 * over a verified connection.
 */
import { X509Certificate } from 'node:crypto';
import {
  CLIENT_SETUP_PATH,
  type ClientSetup,
  clientSetupSchema,
  oidcLoginArguments,
} from '../../features/client-setup/client-setup-v1alpha1.ts';
import { hasCode } from '../../lib/error-code.ts';
import { certificateBlocks } from '../../lib/transport-security.ts';
import { ConfigurationError, columns, UsageError } from '../command.ts';
import { readClouds } from '../login/clouds-yaml.ts';
import { isSameKeystone } from '../login/keystone-settings.ts';
import { KEYSTONE_SECRETS, variableOf } from '../login/login-options.ts';
import type { Question } from '../login/terminal.ts';
import { askStonegate, askUnverified, StonegateAPIError } from '../stonegate-api.ts';
import { type LoginArgumentsOptions, readServer } from './options.ts';

export interface Trust {
  /** PEM of `--ca-file`; undefined if it was not given. */
  readonly ca: string | undefined;
  /** `--ca-fingerprint`, as `readFingerprint` returns it. */
  readonly fingerprint: string | undefined;
  /** Absent without a terminal. */
  readonly question?: Question;
}

export interface ServerSetup {
  /** The address of the API, which is not the given one if that is the portal's. */
  readonly server: URL;
  readonly spec: ClientSetup['spec'];
  /** PEM; undefined if the certificate's authority is known here. */
  readonly ca: string | undefined;
}

/** How OpenSSL reports that it knows no authority of the certificate. */
const UNKNOWN_AUTHORITY = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];

/**
 * @param address of the API or of the portal
 * @throws Error with a sentence for the user
 */
export async function readServerSetup(address: URL, trust: Trust): Promise<ServerSetup> {
  const found = await readTrusted(address, trust);
  const { server, portal } = found.spec;
  if (portal === undefined || URL.parse(portal)?.origin !== address.origin)
    return { ...found, server: address };
  // A portal says where the API is, not whom to trust there: anyone may send a user the address of a portal.
  const api = readServer(server);
  return { ...(await readTrusted(api, { ...trust, ca: found.ca })), server: api };
}

async function readTrusted(server: URL, trust: Trust): Promise<Omit<ServerSetup, 'server'>> {
  const { ca, fingerprint } = trust;
  if (ca !== undefined || fingerprint === undefined) {
    try {
      return { ca, spec: await readSpec(askStonegate({ url: server.origin, ca }, CLIENT_SETUP_PATH)) };
    } catch (error) {
      if (ca !== undefined || !hasCode(error, ...UNKNOWN_AUTHORITY)) throw error;
    }
  }
  const accepted = await acceptedAuthority(server, trust);
  const address = { url: server.origin, ca: accepted };
  return { ca: accepted, spec: await readSpec(askStonegate(address, CLIENT_SETUP_PATH)) };
}

async function readSpec(asked: Promise<unknown>): Promise<ClientSetup['spec']> {
  const document = await asked.catch((error: unknown) => {
    // An API server without Stonegate, or an older Stonegate, responds like this.
    if (error instanceof StonegateAPIError && [401, 403, 404].includes(error.status ?? 0)) return undefined;
    throw error;
  });
  const setup = clientSetupSchema.safeParse(document);
  if (setup.success) return setup.data.spec;
  throw new Error('the server does not say how to log in. Say it yourself: -- --keystone … or -- --oidc …');
}

/**
 * If the server names several authorities, the user is not asked: a "yes" would not say which.
 *
 * @returns PEM of the authority that the user accepts
 */
async function acceptedAuthority(server: URL, { fingerprint, question }: Trust): Promise<string> {
  const { certificateAuthority = '' } = await readSpec(askUnverified(server.origin, CLIENT_SETUP_PATH));
  const offered = certificateBlocks(certificateAuthority).map((pem) => new X509Certificate(pem));
  const [first, another] = offered;
  if (first === undefined)
    throw new Error(
      `the authority of the certificate of ${server.host} is not known here, and the server names none: use --ca-file FILE`,
    );
  const accepted = offered.find((each) => fingerprintOf(each) === fingerprint);
  if (accepted !== undefined) return accepted.toString();
  const shown = columns([
    [`${server.origin} has a certificate of an unknown authority.`],
    [`The server names ${another === undefined ? 'this one' : 'these'}:`],
    ...offered.flatMap((each) => [[`  ${namesIn(each)}`], [`  SHA-256 ${fingerprintOf(each)}`]]),
  ]);
  if (fingerprint !== undefined)
    throw new ConfigurationError(`${shown}None has the fingerprint of --ca-fingerprint: nothing is written.`);
  if (another !== undefined || question === undefined)
    throw new ConfigurationError(
      `${shown}If the operator of the server says the same: --ca-fingerprint SHA256`,
    );
  const answer = await question(
    `${shown}Compare it with what the operator of the server says.\nTrust it (yes or no)? `,
  );
  if (/^y(es)?$/i.test(answer.trim())) return first.toString();
  throw new Error('the authority is not trusted: nothing is written');
}

function namesIn({ subject }: X509Certificate): string {
  return subject.split('\n').join(', ');
}

function fingerprintOf({ fingerprint256 }: X509Certificate): string {
  return fingerprint256.replaceAll(':', '').toLowerCase();
}

interface Choice {
  readonly name: string;
  readonly title: string;
  loginWords(): string[] | Promise<string[]>;
}

/**
 * The login of the provider that the user chooses, as the words behind `--`.
 *
 * @param wanted `--provider`
 * @throws UsageError if the server names no provider or several, or the user of Keystone is not known
 */
export async function chooseLogin(
  { keystone, oidc }: ClientSetup['spec'],
  wanted: string | undefined,
  options: LoginArgumentsOptions & { readonly question?: Question },
): Promise<readonly string[]> {
  const { question } = options;
  const choices: Choice[] = [
    ...(keystone === undefined ? [] : await keystoneChoices(keystone, options)),
    ...oidc.map((provider) => ({
      name: provider.name,
      title: `${provider.displayName}, ${provider.issuer}`,
      loginWords: () => oidcLoginArguments(provider),
    })),
  ];
  if (choices.length === 0)
    throw new UsageError('the server names no provider: say how to log in, -- --keystone … or -- --oidc …');
  const [only, another] = choices;
  const list = columns(choices.map(({ name, title }) => [`  ${name}`, title])).trimEnd();
  let name = wanted;
  if (name === undefined && another !== undefined)
    name = (await question?.(`Where do you log in?\n${list}\nName: `))?.trim();
  const chosen =
    name === undefined && another === undefined ? only : choices.findLast((one) => one.name === name);
  if (chosen !== undefined) return chosen.loginWords();
  const problem =
    name === undefined ? 'where do you log in? Choose with --provider NAME:' : 'there is no such provider:';
  throw new UsageError(problem, list.split('\n'));
}

/** Only `OS_AUTH_URL` says for which Keystone these secrets are. */
const SECRETS = KEYSTONE_SECRETS.map(variableOf);

/** The clouds of `clouds.yaml` that are at this Keystone, else the Keystone itself. */
async function keystoneChoices(
  { displayName, url }: NonNullable<ClientSetup['spec']['keystone']>,
  { env, folder, question }: LoginArgumentsOptions & { readonly question?: Question },
): Promise<Choice[]> {
  // As kubectl's login will look for it.
  const { clouds } = await readClouds({ env: { ...env, KUBERNETES_EXEC_INFO: '{}' }, folder });
  const here = Object.entries(clouds).flatMap(([name, { settings }]) =>
    settings.auth_url !== undefined && isSameKeystone(settings.auth_url, url) ? [name] : [],
  );
  const named = here.filter((name) => name === env.OS_CLOUD);
  const chosen = named.length > 0 ? named : here;
  if (chosen.length > 0)
    return chosen.map((name) => ({
      name: chosen.length === 1 ? 'keystone' : `keystone/${name}`,
      title: `${displayName}, the cloud ${name} of clouds.yaml`,
      loginWords: () => ['--keystone', `--os-cloud=${name}`],
    }));
  return [
    {
      name: 'keystone',
      title: `${displayName}, ${url}`,
      async loginWords() {
        const secret = SECRETS.find((variable) => env[variable]);
        if (secret !== undefined && !env.OS_AUTH_URL)
          throw new UsageError(
            `is ${secret} for ${url}, as the server says? Set OS_AUTH_URL, or say it: -- --keystone --os-auth-url ${url}`,
          );
        const user = env.OS_USERNAME || (await question?.(`Your user name at ${url}: `))?.trim();
        if (!user)
          throw new UsageError(
            `who are you at ${url}? Put a cloud into clouds.yaml, set OS_USERNAME, or say it: -- --keystone --os-auth-url ${url} --os-username NAME`,
          );
        const given = env.OS_USER_DOMAIN_NAME || (await question?.('Its domain (empty: Default): '))?.trim();
        const domain = given ? [`--os-user-domain-name=${given}`] : [];
        return ['--keystone', `--os-auth-url=${url}`, `--os-username=${user}`, ...domain];
      },
    },
  ];
}
