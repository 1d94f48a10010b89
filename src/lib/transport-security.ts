/**
 * Certificates as PEM (RFC 7468 §5), and addresses to which plain HTTP is as safe as TLS (RFC 8252 §8.3).
 */

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
