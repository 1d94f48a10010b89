/**
 * Client certificates as pure functions: the certificate's attributes, and the verification of its chain
 * against CAs that were configured after the handshake, in which alone OpenSSL verifies it.
 * RFC 5280 §4.1.2.6, §6.1; https://nodejs.org/api/tls.html#certificate-object
 */
import { hash, X509Certificate } from 'node:crypto';
import type { ClientCertificate } from '../api/credentials.ts';
import { certificateBlocks } from '../lib/transport-security.ts';

export interface ClientAuthorities {
  /** SHA-256 of the file's content. */
  readonly digest: string;
  readonly certificates: readonly X509Certificate[];
}

/** @throws Error if a certificate cannot be parsed */
export function readAuthorities(pem: string | Buffer): ClientAuthorities {
  const certificates = certificateBlocks(pem).map((block) => new X509Certificate(block));
  return { digest: hash('sha256', pem), certificates };
}

/** Whether every chain that `other` verifies is verified by `authorities` too. */
export function includesAll(authorities: ClientAuthorities, other: ClientAuthorities): boolean {
  const fingerprints = new Set(authorities.certificates.map(({ fingerprint256 }) => fingerprint256));
  return other.certificates.every(({ fingerprint256 }) => fingerprints.has(fingerprint256));
}

/**
 * Whether a chain leads from the certificate to one of the authorities, by issuer, signature, validity and
 * the right to issue (RFC 5280 §6.1). Constraints on names and path length are verified only by OpenSSL, in
 * the handshake; an authority that was not part of it counts as unconstrained.
 *
 * @param intermediates as the client sent them
 * @param now milliseconds since the epoch
 */
export function verifyChain(
  { certificates }: ClientAuthorities,
  certificate: X509Certificate,
  intermediates: readonly X509Certificate[],
  now: number,
): boolean {
  const roots = new Set(certificates.filter((each) => isIssuedBy(each, each, now)));
  const untried = new Set([...certificates, ...intermediates]);
  const reachesRoot = (issued: X509Certificate): boolean =>
    [...untried].some((issuer) => {
      if (!untried.has(issuer) || !isIssuedBy(issued, issuer, now)) return false;
      untried.delete(issuer);
      return roots.has(issuer) || reachesRoot(issuer);
    });
  return reachesRoot(certificate);
}

function isIssuedBy(issued: X509Certificate, issuer: X509Certificate, now: number): boolean {
  if (!issuer.ca || !issued.checkIssued(issuer)) return false;
  if (issuer.validFromDate.getTime() > now || issuer.validToDate.getTime() <= now) return false;
  try {
    return issued.verify(issuer.publicKey);
  } catch (error) {
    // A key type that this machine does not support.
    if (error instanceof Error) return false;
    throw error;
  }
}

/** Node's name for an attribute whose value is not a text. */
const UNREADABLE = '';

/**
 * The subject's attributes one by one. The subject as one text could be forged: a value could look like two
 * attributes (CVE-2021-44532).
 *
 * @param issuers the known certificates of its chain, which limit its validity
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
