/**
 * Merges OpenStack's login settings (`auth_url`, `project_name`, …) from a cloud, `OS_*` variables and
 * flags, and turns them into a login request. A setting of a higher layer also replaces lower settings for
 * the same thing, such as an id by a name.
 * https://docs.openstack.org/keystoneauth/latest/authentication-plugins.html
 */
import type {
  DomainName,
  KeystoneLoginScope,
  ReferenceInDomain,
} from '../../identity/keystone/keystone-login.ts';
import { isLoopback } from '../../lib/transport-security.ts';
import { LoginError } from './credential-source.ts';

export type Settings = Readonly<Record<string, string>>;

/** A login request, complete except for a secret that may be missing. */
export interface KeystonePlan {
  /** The URL of the identity API. */
  readonly url: string;
  readonly caFile?: string;
  readonly proof: PlannedProof;
  readonly scope?: KeystoneLoginScope;
}

export type PlannedProof =
  | { readonly method: 'password'; readonly user: ReferenceInDomain; readonly secret: string | undefined }
  | { readonly method: 'token'; readonly secret: string }
  | {
      readonly method: 'application_credential';
      readonly credential:
        | { readonly id: string }
        | { readonly name: string; readonly user: ReferenceInDomain };
      readonly secret: string | undefined;
    };

const ALIASES: Readonly<Record<string, string>> = {
  auth_plugin: 'auth_type',
  auth_token: 'token',
  tenant_id: 'project_id',
  tenant_name: 'project_name',
  user_name: 'username',
  default_domain: 'default_domain_id',
};

/** Settings that exclude each other: one in a higher layer removes all of its row in lower layers. */
const SAME_THING = [
  ['user_id', 'username'],
  ['user_domain_id', 'user_domain_name'],
  ['project_domain_id', 'project_domain_name'],
  ['project_id', 'project_name', 'domain_id', 'domain_name', 'system_scope', 'trust_id', 'unscoped'],
  ['application_credential_id', 'application_credential_name'],
  ['cacert', 'insecure', 'verify'],
];

/** @param layers lowest first; empty values count as absent */
export function overlay(layers: readonly Settings[]): Settings {
  const merged = new Map<string, string>();
  for (const layer of layers) {
    const given = Object.entries(layer)
      .filter(([, value]) => value !== '')
      .map(([word, value]) => [ALIASES[word] ?? word, value] as const);
    for (const row of SAME_THING) {
      if (given.some(([word]) => row.includes(word))) for (const word of row) merged.delete(word);
    }
    for (const [word, value] of given) merged.set(word, value);
  }
  return Object.fromEntries(merged);
}

/** @throws LoginError if a setting is missing or not supported */
export function planLogin(settings: Settings): KeystonePlan {
  assertUsable(settings);
  if (isTrue(settings.insecure) || settings.verify?.toLowerCase() === 'false') {
    throw new LoginError(
      'the certificate of Keystone is not to be verified, says the configuration (insecure, verify: false): ' +
        'anyone on the network could read the password. Set its CA with cacert, OS_CACERT or --os-cacert instead',
    );
  }
  const scope = scopeOf(settings);
  return {
    url: urlOf(settings),
    ...(settings.cacert !== undefined && { caFile: settings.cacert }),
    proof: proofOf(settings),
    ...(scope !== undefined && { scope }),
  };
}

/**
 * Refuses settings that no other layer could make valid.
 *
 * @throws LoginError
 */
export function assertUsable(settings: Settings): void {
  const { auth_type: type } = settings;
  if (type !== undefined && !SUPPORTED.includes(type))
    throw new LoginError(
      `--keystone does not log in with the auth_type ${JSON.stringify(type)} (second factors, federation and the like), only with ${SUPPORTED.join(', ')}. ${INSTEAD}. ` +
        'Where Stonegate knows the provider of a federated user, log in to it directly: stonegate login --oidc',
    );
  if (settings.auth_url !== undefined) urlOf(settings);
  scopeOf(settings);
}

function urlOf({ auth_url: given, profile }: Settings): string {
  if (given === undefined) {
    if (profile !== undefined)
      throw new LoginError(
        `the profile ${JSON.stringify(profile)} is in no clouds-public.yaml next to clouds.yaml, and the vendors that are built into openstacksdk are not read: write the vendor's auth_url into the cloud`,
      );
    throw new LoginError(
      'which Keystone? Name a cloud of clouds.yaml with --os-cloud or OS_CLOUD, or set an address with --os-auth-url or OS_AUTH_URL',
    );
  }
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new LoginError('auth_url must be an http or https address without a user in it');
  }
  if (url.protocol === 'http:' && !isLoopback(url)) {
    throw new LoginError(
      `${url.origin} is not https: anyone on the network could read the password. http is accepted only for loopback`,
    );
  }
  return `${url.origin}${url.pathname}`;
}

/** Settings name Keystone with its version or without. */
export function isSameKeystone(one: string, other: string): boolean {
  return baseOf(one) === baseOf(other);
}

function baseOf(url: string): string {
  return url.replace(/\/+$/, '').replace(/\/v3$/, '').replace(/\/+$/, '');
}

function proofOf(settings: Settings): PlannedProof {
  const { token, password, application_credential_secret: secret } = settings;
  switch (methodOf(settings)) {
    case 'token':
      if (token === undefined) throw missing('the token', 'token');
      return { method: 'token', secret: token };
    case 'application_credential':
      return { method: 'application_credential', credential: credentialOf(settings), secret };
    case 'password':
      return { method: 'password', user: userOf(settings), secret: password };
  }
}

/** The method follows from `auth_type`, else from the settings present. */
function methodOf(settings: Settings): PlannedProof['method'] {
  const type = settings.auth_type?.replace(/^v3/, '');
  if (type === 'applicationcredential') return 'application_credential';
  if (type === 'token' || type === 'password') return type;
  if (settings.application_credential_id ?? settings.application_credential_name)
    return 'application_credential';
  return settings.token === undefined ? 'password' : 'token';
}

function credentialOf(settings: Settings) {
  const { application_credential_id: id, application_credential_name: name } = settings;
  if (id !== undefined) return { id };
  if (name === undefined) throw missing('the application credential', 'application_credential_id');
  return { name, user: userOf(settings) };
}

function userOf(settings: Settings): ReferenceInDomain {
  const { user_id: id, username: name } = settings;
  if (id !== undefined) return { id };
  if (name === undefined) throw missing('the user', 'username');
  return { name, domain: domainOf(settings, 'user_domain') };
}

/** Undefined: Keystone uses the user's default project. An application credential contains its scope. */
function scopeOf(settings: Settings): KeystoneLoginScope | undefined {
  const { project_id, project_name, trust_id, system_scope, domain_id, domain_name } = settings;
  if (methodOf(settings) === 'application_credential') return undefined;
  if (trust_id !== undefined) return { 'OS-TRUST:trust': { id: trust_id } };
  if (project_id !== undefined) return { project: { id: project_id } };
  if (project_name !== undefined)
    return { project: { name: project_name, domain: domainOf(settings, 'project_domain') } };
  if (system_scope !== undefined) {
    if (system_scope !== 'all') throw new LoginError('system_scope can only be "all"');
    return { system: { all: true } };
  }
  if (domain_id !== undefined) return { domain: { id: domain_id } };
  if (domain_name !== undefined) return { domain: { name: domain_name } };
  return isTrue(settings.unscoped) ? 'unscoped' : undefined;
}

/**
 * With a project, `domain_name` is not a scope but the domain of user and project. Default: Keystone's
 * `default`.
 */
function domainOf(settings: Settings, whose: 'user_domain' | 'project_domain'): DomainName {
  const scoped = settings.project_id ?? settings.project_name;
  for (const prefix of [whose, ...(scoped === undefined ? [] : ['domain']), 'default_domain']) {
    const { [`${prefix}_id`]: id, [`${prefix}_name`]: name } = settings;
    if (id !== undefined) return { id };
    if (name !== undefined) return { name };
  }
  return { id: 'default' };
}

function isTrue(value: string | undefined): boolean {
  return value?.toLowerCase() === 'true' || value === '1';
}

function missing(what: string, word: string): LoginError {
  return new LoginError(`${what} is missing: set ${word} in clouds.yaml or OS_${word.toUpperCase()}`);
}

/** Every user who can log in with the `openstack` command can do this. */
export const INSTEAD =
  'Create an application credential once (openstack application credential create kubectl) and put it into clouds.yaml ' +
  'with auth_type v3applicationcredential, or hand over a token for as long as it lives: ' +
  'OS_AUTH_TYPE=token OS_TOKEN="$(openstack token issue -f value -c id)"';

const SUPPORTED = ['password', 'token', 'v3password', 'v3token', 'v3applicationcredential'];
