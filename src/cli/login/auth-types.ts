/**
 * The authentication types of OpenStack that `stonegate login --keystone` does not do itself, and what a person with
 * such a cloud does instead.
 */

const DONE: ReadonlySet<string> = new Set([
  'password',
  'token',
  'v3password',
  'v3token',
  'v3applicationcredential',
]);

/** Through somebody else's login page or service. */
const FEDERATED = /^v3(?:oidc|websso|saml|adfs|fedkerb|kerberos|tokenless)/;
const SECOND_FACTOR = /^v3(?:multifactor|totp)$/;

/** What a person can always do who can log in with the `openstack` command. */
export const INSTEAD =
  'Make an application credential once (openstack application credential create kubectl) and put it into clouds.yaml ' +
  'with auth_type v3applicationcredential, or hand over a token for as long as it lives: ' +
  'OS_AUTH_TYPE=token OS_TOKEN="$(openstack token issue -f value -c id)"';

/** @returns why not, and what to do; undefined where the type is supported, or absent */
export function unsupportedType(type: string | undefined): string | undefined {
  if (type === undefined || DONE.has(type)) return undefined;
  if (FEDERATED.test(type)) {
    return (
      `the cloud logs people in by federation (${type}), which stonegate login --keystone does not do. ${INSTEAD}. ` +
      'Where Stonegate knows the provider too, log in to it directly: stonegate login --oidc'
    );
  }
  if (SECOND_FACTOR.test(type)) {
    return `the cloud wants a second factor (${type}), which stonegate login does not ask for. ${INSTEAD}`;
  }
  if (type.startsWith('v2')) return `${type} is of the identity API 2.0, which is gone: use v3password`;
  return `stonegate login does not know the auth_type ${JSON.stringify(type)}, only ${[...DONE].join(', ')}`;
}
