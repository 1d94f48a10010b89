/**
 * Checks of the files and secrets that a configuration names. Messages never repeat the content.
 * PEM: RFC 7468; bearer tokens: RFC 6750 §2.1.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { ContentKind } from '../lib/schema-files.ts';
import { certificateBlocks } from '../lib/transport-security.ts';

type Check = (content: Buffer) => string | undefined;

/** Files with a format of their own are checked by their parsers. */
const CHECKS: Readonly<Partial<Record<ContentKind, Check>>> = {
  certificate: checkCertificates,
  ca: checkCertificates,
  'client-ca': checkClientAuthorities,
  key: checkKey,
  token: (content) =>
    /^[\w.~+/-]+=*$/.test(secretText(content)) ? undefined : 'expected one bearer token and nothing else',
  secret: (content) => (secretText(content) === '' ? 'expected a secret, found nothing' : undefined),
  'sealing-key': (content) =>
    Buffer.from(secretText(content), 'base64').length === 32 && /^[\w+/-]+=*$/.test(secretText(content))
      ? undefined
      : 'expected 32 bytes in base64, as `openssl rand -base64 32` prints them',
  'redis-url': checkRedisURL,
};

/** @returns the problem; undefined if there is none */
export function checkContent(kind: ContentKind, content: Buffer): string | undefined {
  return CHECKS[kind]?.(content);
}

/** A secret without the final line break that an editor adds. */
export function secretText(content: Buffer): string {
  return content.toString('utf8').replace(/\r?\n$/, '');
}

/** Checks that the key belongs to the certificate. Each has passed `checkContent`. */
export function checkPair(certificate: Buffer, key: Buffer): string | undefined {
  // OpenSSL reads no certificate if two of them were joined without a line break in between.
  if (!parses(() => new X509Certificate(certificate))) return tlsProblem(certificate, key);
  const belongs = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  return belongs ? tlsProblem(certificate, key) : "expected the certificate's private key, found another's";
}

/** OpenSSL's reason to refuse the pair, such as a key that is too short. */
function tlsProblem(cert: Buffer, key: Buffer): string | undefined {
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const reason = 'reason' in error ? String(error.reason) : 'something else';
    return `expected a certificate and a key that TLS takes, found what OpenSSL calls "${reason}"`;
  }
}

function checkCertificates(content: Buffer): string | undefined {
  const blocks = certificateBlocks(content);
  if (blocks.length === 0) return 'expected certificates in PEM, found none';
  const broken = blocks.findIndex((block) => !parses(() => new X509Certificate(block)));
  return broken === -1
    ? undefined
    : `expected certificates in PEM, found that number ${broken + 1} is broken`;
}

/**
 * Node verifies a chain up to a root, so with an intermediate CA alone every client certificate would be
 * refused.
 */
function checkClientAuthorities(content: Buffer): string | undefined {
  const problem = checkCertificates(content);
  if (problem !== undefined) return problem;
  const certificates = certificateBlocks(content).map((block) => new X509Certificate(block));
  const stray = certificates.findIndex((certificate) => !certificate.ca);
  if (stray !== -1) return `expected certificates of authorities, found that number ${stray + 1} is none`;
  return certificates.some((certificate) => certificate.checkIssued(certificate))
    ? undefined
    : 'expected the certificate of a root authority among them, found only intermediate ones';
}

function checkKey(content: Buffer): string | undefined {
  return parses(() => createPrivateKey(content))
    ? undefined
    : 'expected a private key in PEM that is not encrypted';
}

function checkRedisURL(content: Buffer): string | undefined {
  const url = URL.parse(secretText(content));
  if (url?.protocol === 'unix:' && url.pathname.length > 1) return undefined;
  if (url !== null && /^rediss?:$/.test(url.protocol) && /^(?:\/\d*)?$/.test(url.pathname)) return undefined;
  return 'expected redis://HOST or rediss://HOST, with at most the number of a database as its path, or unix:///PATH';
}

function parses(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}
