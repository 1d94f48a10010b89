/**
 * Certificates as PEM (RFC 7468 §5), the authorities that commands trust, and addresses to which plain HTTP
 * is as safe as TLS (RFC 8252 §8.3).
 */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** @returns the PEM blocks with their first and last lines; the content is not parsed */
export function certificateBlocks(pem: string | Buffer): readonly string[] {
  return pem.toString('latin1').match(CERTIFICATE) ?? [];
}

/** The certificates of a file that is given to users: it may hold more, such as a key. */
export function certificatesIn(pem: string): string {
  return certificateBlocks(pem)
    .map((block) => `${block}\n`)
    .join('');
}

export function isLoopback(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(url.hostname);
}

let trustsSystem = false;

/**
 * Trusts the authorities of the system beside Node's own, as kubectl does, in all connections of this process
 * that have no `ca` of their own. Commands call it with the first connection: a cached token needs none.
 */
export function trustSystemAuthorities(): void {
  if (trustsSystem) return;
  trustsSystem = true;
  setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')]);
}
