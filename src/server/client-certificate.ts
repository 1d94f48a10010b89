/**
 * What a client's certificate says, read from what Node has parsed: the attributes one by one, never the subject as
 * one text, in which a value could pretend to be two attributes (CVE-2021-44532).
 * RFC 5280 §4.1.2.6; https://nodejs.org/api/tls.html#certificate-object
 */
import type { X509Certificate } from 'node:crypto';
import type { ClientCertificate } from '../api/credentials.ts';

/** What Node calls an attribute whose value is no kind of text: there could be anything in it. */
const UNREADABLE = '';

/**
 * @param issuers those above it, as far as they are known: it is good for no longer than they are
 */
export function describeCertificate(
  certificate: X509Certificate,
  issuers: readonly X509Certificate[],
): ClientCertificate {
  const { subject } = certificate.toLegacyObject();
  if (Object.hasOwn(subject, UNREADABLE))
    return { verified: false, problem: 'its subject has an attribute that is no text' };
  const notAfter = Math.min(...[certificate, ...issuers].map(({ validToDate }) => validToDate.getTime()));
  if (Number.isNaN(notAfter)) return { verified: false, problem: 'its end is no date' };
  return {
    verified: true,
    commonNames: valuesOf(subject.CN),
    organizations: valuesOf(subject.O),
    organizationalUnits: valuesOf(subject.OU),
    notAfter,
    serialNumber: certificate.serialNumber.toLowerCase(),
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}

function valuesOf(attribute: string | readonly string[] | undefined): readonly string[] {
  if (attribute === undefined) return [];
  return typeof attribute === 'string' ? [attribute] : attribute;
}
