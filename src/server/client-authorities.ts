/**
 * The authorities that clients' certificates are believed by, and whether a connection made under others would be
 * believed under these. OpenSSL judges certificates in a handshake only, so that afterwards the chain is followed here:
 * by issuer, signature, validity and the right to issue. What only OpenSSL reads (constraints on names and on the
 * length of a path) it has read in the handshake; an authority that it has not met there counts as without.
 * RFC 5280 §6.1.
 */
import { hash, X509Certificate } from 'node:crypto';
import { certificateBlocks } from '../lib/transport-security.ts';

export interface ClientAuthorities {
  /** Of the file's content. */
  readonly digest: string;
  readonly certificates: readonly X509Certificate[];
}

/** @throws Error where a certificate in it is broken */
export function readAuthorities(pem: string | Buffer): ClientAuthorities {
  const certificates = certificateBlocks(pem).map((block) => new X509Certificate(block));
  return { digest: hash('sha256', pem), certificates };
}

/** Whether whatever `former` vouches for, `authorities` vouch for too. */
export function include(authorities: ClientAuthorities, former: ClientAuthorities): boolean {
  const fingerprints = new Set(authorities.certificates.map(({ fingerprint256 }) => fingerprint256));
  return former.certificates.every(({ fingerprint256 }) => fingerprints.has(fingerprint256));
}

/**
 * Whether a chain leads from the certificate to one of the authorities.
 *
 * @param others what may stand between them, as the client sent it
 * @param now milliseconds since the epoch
 */
export function vouchFor(
  { certificates }: ClientAuthorities,
  certificate: X509Certificate,
  others: readonly X509Certificate[],
  now: number,
): boolean {
  const roots = new Set(certificates.filter((each) => isIssuedBy(each, each, now)));
  const untried = new Set([...certificates, ...others]);
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
    // A key of a kind that this machine cannot verify with.
    if (error instanceof Error) return false;
    throw error;
  }
}
