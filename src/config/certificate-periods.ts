/**
 * Certificates that are shown to others and are not valid at the moment. No problem of the configuration, and no reason to
 * refuse it: a certificate that runs out under a running Stonegate must not stand in the way of an issuer that is taken out,
 * and where everybody is locked out, a restart must mend what can be mended. But it is said, since it breaks every connection.
 * RFC 5280 §4.1.2.5.
 */
import { X509Certificate } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { certificateBlocks } from '../lib/transport-security.ts';
import type { LoadedConfiguration } from './load.ts';
import { formatPath, type Problem } from './problem.ts';
import { referencesOf } from './references.ts';

/**
 * @param now milliseconds since the epoch
 * @returns those of the chains in `certFile` of any section, each with the field that names its file
 */
export function certificatesOutOfPeriod(
  { configuration, file }: LoadedConfiguration,
  now: number,
): Problem[] {
  return referencesOf(configuration).flatMap(({ path, source, kind }) => {
    if (kind !== 'certificate' || !('fromFile' in source)) return [];
    return certificateBlocks(file(source.fromFile)).flatMap((block, index) => {
      const fault = outOfPeriod(new X509Certificate(block), now);
      if (fault === undefined) return [];
      const which = index === 0 ? 'the certificate' : `certificate number ${index + 1} of the chain`;
      return [
        { path: formatPath(path), message: `${which} ${fault}: whoever checks it refuses the connection` },
      ];
    });
  });
}

/** Says each of them in the log, at a start and whenever a configuration has come into force. */
export function warnOfCertificates(
  loaded: LoadedConfiguration,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): void {
  for (const { path, message } of certificatesOutOfPeriod(loaded, clock.now())) {
    logger.warn({ field: path, problem: message }, 'a certificate is not valid at the moment');
  }
}

/** The seconds at both ends belong to the period. */
function outOfPeriod({ validFromDate, validToDate }: X509Certificate, now: number): string | undefined {
  if (now < validFromDate.getTime()) return `is not valid before ${validFromDate.toISOString()}`;
  if (now >= validToDate.getTime() + 1_000) return `has expired at ${validToDate.toISOString()}`;
  return undefined;
}
