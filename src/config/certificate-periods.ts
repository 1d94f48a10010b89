/**
 * When the certificates that Stonegate presents end, and warnings about those that are not valid now. They do
 * not make the configuration invalid: an expired certificate must not prevent a reload that removes an
 * issuer, nor a restart. RFC 5280 §4.1.2.5.
 */
import { X509Certificate } from 'node:crypto';
import { defineGauge, OPEN, type Readings } from '../lib/metric.ts';
import type { Runtime } from '../lib/runtime.ts';
import { certificateBlocks } from '../lib/transport-security.ts';
import type { LoadedConfiguration } from './load.ts';
import { formatPath, type Problem } from './problem.ts';

type Certificates = Pick<LoadedConfiguration, 'references' | 'file'>;

/**
 * @param now milliseconds since the epoch
 * @returns a problem for each certificate in a `certFile` chain that is not valid now
 */
export function certificatesOutOfPeriod(loaded: Certificates, now: number): Problem[] {
  return chainsOf(loaded).flatMap(({ path, chain }) =>
    chain.flatMap((certificate, index) => {
      const fault = outOfPeriod(certificate, now);
      if (fault === undefined) return [];
      const which = index === 0 ? 'the certificate' : `certificate number ${index + 1} of the chain`;
      return [{ path, message: `${which} ${fault}: peers that verify it refuse the connection` }];
    }),
  );
}

export const CERTIFICATE_ENDS = defineGauge({
  name: 'stonegate_certificate_not_after_timestamp_seconds',
  help: 'When the first certificate of a certFile expires, by its field of the configuration.',
  labels: { field: OPEN },
  aggregator: 'min',
});

/**
 * @returns a function to call at start and after every reload: it logs a warning for each certificate that is
 * not valid, and the metrics say when each ends
 */
export function createCertificateReport({
  clock,
  logger,
  telemetry,
}: Pick<Runtime, 'clock' | 'logger' | 'telemetry'>): (loaded: Certificates) => void {
  let ends: Readings<typeof CERTIFICATE_ENDS.labels> = [];
  telemetry.measure(CERTIFICATE_ENDS, () => ends);
  return (loaded) => {
    ends = chainsOf(loaded).map(({ path: field, chain }) => [
      { field },
      Math.min(...chain.map(({ validToDate }) => validToDate.getTime())) / 1000,
    ]);
    for (const { path, message } of certificatesOutOfPeriod(loaded, clock.now())) {
      logger.warn({ field: path, problem: message }, 'a certificate is not valid at the moment');
    }
  };
}

function chainsOf({ references, file }: Certificates) {
  return references.flatMap(({ path, source, content }) =>
    content === 'certificate' && 'fromFile' in source
      ? [
          {
            path: formatPath(path),
            chain: certificateBlocks(file(source.fromFile)).map((block) => new X509Certificate(block)),
          },
        ]
      : [],
  );
}

/** The first and the last second belong to the period. */
function outOfPeriod({ validFromDate, validToDate }: X509Certificate, now: number): string | undefined {
  if (now < validFromDate.getTime()) return `is not valid before ${validFromDate.toISOString()}`;
  if (now >= validToDate.getTime() + 1_000) return `has expired at ${validToDate.toISOString()}`;
  return undefined;
}
