/**
 * Client certificates as pure functions: the certificate's attributes, and whether the CAs by which OpenSSL
 * verified it in the handshake are still configured.
 * RFC 5280 §4.1.2.6; https://nodejs.org/api/tls.html#certificate-object
 */
import { hash, X509Certificate } from 'node:crypto';
import type { ClientCertificate } from '../lib/client-certificate.ts';
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
export function includesAll(
  authorities: ClientAuthorities,
  other: Pick<ClientAuthorities, 'certificates'>,
): boolean {
  const fingerprints = new Set(authorities.certificates.map(({ fingerprint256 }) => fingerprint256));
  return other.certificates.every(({ fingerprint256 }) => fingerprints.has(fingerprint256));
}

/**
 * @param chain as Node finds it after the handshake: by the names and ids of keys, without their signatures
 * @returns undefined if it does not lead to a root by its signatures
 */
export function rootOf(chain: readonly X509Certificate[]): X509Certificate | undefined {
  const isSigned = chain.every((issued, at) => issued.verify((chain[at + 1] ?? issued).publicKey));
  return isSigned ? chain.at(-1) : undefined;
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
