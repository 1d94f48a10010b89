/**
 * Warnings about certificates that Stonegate presents and that are not valid now. They do not make the
 * configuration invalid: an expired certificate must not prevent a reload that removes an issuer, nor a
 * restart. RFC 5280 §4.1.2.5.
 */
import { X509Certificate } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { certificateBlocks } from '../lib/transport-security.ts';
import type { LoadedConfiguration } from './load.ts';
import { formatPath, type Problem } from './problem.ts';
import { type Reference, referencesOf } from './references.ts';

/**
 * @param now milliseconds since the epoch
 * @returns a problem for each certificate in a `certFile` chain that is not valid now
 */
export function certificatesOutOfPeriod(
  { configuration, file }: Pick<LoadedConfiguration, 'configuration' | 'file'>,
  now: number,
): Problem[] {
  return outOfPeriodAmong(referencesOf(configuration), file, now);
}

function outOfPeriodAmong(
  references: readonly Reference[],
  file: LoadedConfiguration['file'],
  now: number,
): Problem[] {
  return references.flatMap(({ path, source, kind }) => {
    if (kind !== 'certificate' || !('fromFile' in source)) return [];
    return certificateBlocks(file(source.fromFile)).flatMap((block, index) => {
      const fault = outOfPeriod(new X509Certificate(block), now);
      if (fault === undefined) return [];
      const which = index === 0 ? 'the certificate' : `certificate number ${index + 1} of the chain`;
      return [
        { path: formatPath(path), message: `${which} ${fault}: peers that verify it refuse the connection` },
      ];
    });
  });
}

/**
 * Arktos reads the tenant of a client certificate's user from its only organization. With another
 * organization the user is not the one that the output of `stonegate manifests rbac` gives rights to.
 *
 * @returns a problem for each of Stonegate's own client certificates that is not of the system tenant
 *   (arktos)
 */
export function certificatesOfOtherTenants({ configuration, file }: LoadedConfiguration): Problem[] {
  const { tenancy, upstream, bindings } = configuration;
  if (tenancy.mode !== 'arktos') return [];
  const expected = `tenant:${tenancy.systemTenant}`;
  const credentials = { upstream: upstream.credential, bindings: bindings.credential };
  return Object.entries(credentials).flatMap(([section, credential]) => {
    if (credential === undefined || !('certFile' in credential)) return [];
    const [leaf] = certificateBlocks(file(credential.certFile));
    if (leaf === undefined) return [];
    const { O } = new X509Certificate(leaf).toLegacyObject().subject;
    if (O === expected) return [];
    const found =
      O === undefined
        ? 'none'
        : [O]
            .flat()
            .map((name) => JSON.stringify(name))
            .join(', ');
    return [
      {
        path: `${section}.credential.certFile`,
        message: `expected exactly one organization, O=${expected}, found ${found}: the API server takes the tenant from it, so this user does not have the rights that \`stonegate manifests rbac\` grants`,
      },
    ];
  });
}

/** Logs a warning for each certificate that is not valid, at start and after every reload. */
export function warnOfCertificates(
  references: readonly Reference[],
  { file }: Pick<LoadedConfiguration, 'file'>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): void {
  for (const { path, message } of outOfPeriodAmong(references, file, clock.now())) {
    logger.warn({ field: path, problem: message }, 'a certificate is not valid at the moment');
  }
}

/** The first and the last second belong to the period. */
function outOfPeriod({ validFromDate, validToDate }: X509Certificate, now: number): string | undefined {
  if (now < validFromDate.getTime()) return `is not valid before ${validFromDate.toISOString()}`;
  if (now >= validToDate.getTime() + 1_000) return `has expired at ${validToDate.toISOString()}`;
  return undefined;
}
