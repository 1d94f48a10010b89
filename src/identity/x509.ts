/**
 * The authenticator for client certificates in the two forms that Arktos reads: `O=tenant:T` with groups as
 * `OU`, or `CN=T:name` with groups as `O`. The listener verifies the certificate; an unverified one is
 * refused here and never ignored. A certificate that fits both forms is refused.
 * RFC 5280 §4.1.2.6;
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates
 */

import { StatusError, unauthorized } from '../errors/status-error.ts';
import type { VerifiedCertificate } from '../lib/client-certificate.ts';
import type { Clock } from '../lib/clock.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { LocalIdentity } from '../tenancy/identity.ts';
import { EVERY_TENANT } from '../tenancy/places.ts';
import type { Authenticator } from './authenticator.ts';
import { requirePrintableText } from './name-validation.ts';

export interface X509AuthenticatorOptions {
  /** Prefixes of names and groups, so that no other source gives the same names; may be empty. */
  readonly usernamePrefix: string;
  readonly groupsPrefix: string;
  readonly systemTenant: string;
  /** Whether certificates of the system tenant are accepted. */
  readonly allowSystemTenant: boolean;
  readonly clock: Clock;
}

/** The user that a certificate's subject names. */
interface Holder {
  readonly tenant: string;
  readonly name: string;
  readonly groups: readonly string[];
}

const TENANT = 'tenant:';

/** Memoized for each certificate object: the listener gives one object for all requests of a connection. */
export function createX509Authenticator(options: X509AuthenticatorOptions): Authenticator {
  const { clock } = options;
  const identityOf = memoizeByReference((certificate: VerifiedCertificate) =>
    identityOfCertificate(certificate, options),
  );
  return {
    name: 'x509',
    takes: 'client certificates',
    authenticate(credential) {
      if (credential.kind !== 'certificate') return undefined;
      const { certificate } = credential;
      if (!certificate.verified) throw unauthorized(`the client certificate: ${certificate.problem}`);
      if (certificate.notAfter <= clock.now()) throw unauthorized('the client certificate has run out');
      return identityOf(certificate);
    },
  };
}

function identityOfCertificate(
  certificate: VerifiedCertificate,
  options: X509AuthenticatorOptions,
): LocalIdentity {
  const { tenant, name, groups } = holderOf(certificate);
  requireAllowed(tenant, options);
  requirePrintableText(name, "the client certificate's user");
  for (const group of groups) requirePrintableText(group, "a client certificate's group");
  const { usernamePrefix, groupsPrefix } = options;
  return {
    authenticator: 'x509',
    subject: { kind: 'local', usernamePrefix, groupsPrefix, name, groups },
    tenantOrigin: { from: 'issuer', tenant },
    uid: '',
    extra: {},
    expiresAt: certificate.notAfter,
    auditAnnotations: {
      'stonegate.dev/certificate-serial-number': certificate.serialNumber,
      'stonegate.dev/certificate-fingerprint': certificate.fingerprint,
    },
  };
}

/** @throws StatusError CredentialInvalid if the subject fits neither form, or both */
function holderOf({ commonNames, organizations, organizationalUnits }: VerifiedCertificate): Holder {
  const [commonName] = commonNames;
  if (commonName === undefined || commonNames.length > 1)
    throw unauthorized(`the client certificate has ${commonNames.length} common names, not one`);
  const holder = organizations.some((organization) => organization.startsWith(TENANT))
    ? { tenant: tenantOf(organizations), name: commonName, groups: organizationalUnits }
    : { ...splitName(commonName), groups: organizations };
  if ([holder.tenant, holder.name, ...holder.groups].includes(''))
    throw unauthorized('the client certificate has an empty tenant, user or group');
  return holder;
}

function tenantOf(organizations: readonly string[]): string {
  const [only = ''] = organizations;
  if (organizations.length > 1)
    throw unauthorized('the client certificate has an organization besides the one that is its tenant');
  return only.slice(TENANT.length);
}

function splitName(commonName: string): { readonly tenant: string; readonly name: string } {
  const colon = commonName.indexOf(':');
  if (colon === -1) throw unauthorized('the client certificate names no tenant');
  return { tenant: commonName.slice(0, colon), name: commonName.slice(colon + 1) };
}

/** @throws StatusError TenantUnknown */
function requireAllowed(tenant: string, { allowSystemTenant, systemTenant }: X509AuthenticatorOptions): void {
  const system = tenant === 'system' || tenant === systemTenant;
  if (tenant !== EVERY_TENANT && (allowSystemTenant || !system)) return;
  throw new StatusError(
    'TenantUnknown',
    `client certificates of the tenant "${tenant}" are not accepted by this cluster's configuration`,
  );
}
