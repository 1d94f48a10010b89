/**
 * Certificates as PEM, of which a file may hold several with text between them. RFC 7468 §5.
 */

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** @returns each with its first and last line; whether there is a certificate between them nobody has looked */
export function certificateBlocks(pem: string | Buffer): readonly string[] {
  return pem.toString('latin1').match(CERTIFICATE) ?? [];
}
