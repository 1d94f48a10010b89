/**
 * Certificates with any subject, attribute by attribute in the encoding that a test wants: certificates that
 * libraries refuse to create, but that a careless or malicious authority may sign. X.690 (DER), RFC 5280
 * §4.1.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { KeyPair } from './authority.ts';

/** A type, its value, and the tag of its encoding; by default UTF8String. */
export type Attribute = readonly ['CN' | 'O' | 'OU', string | Buffer, tag?: number];
/** Each member is an RDN: one attribute, or several that count as one. */
export type Subject = readonly (Attribute | readonly Attribute[])[];

export interface Issuer extends KeyPair {
  readonly name: Subject;
  issue(subject: Subject, options?: IssueOptions): KeyPair;
  /** An intermediate authority below this one; its `cert` contains only its own certificate. */
  issuer(commonName: string, options?: IssueOptions): Issuer;
}

export interface IssueOptions {
  readonly notAfter?: Date;
  /** Whether clients may use the certificate; true by default. */
  readonly forClients?: boolean;
}

const UTF8_STRING = 0x0c;
const TYPES = { CN: [0x55, 4, 3], O: [0x55, 4, 10], OU: [0x55, 4, 11] } as const;
const ECDSA_WITH_SHA256 = sequence(encode(0x06, [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]));
const DAY = 86_400_000;

/** A root authority. */
export function createIssuer(commonName: string, options: IssueOptions = {}): Issuer {
  const key = newKey();
  const name: Subject = [['CN', commonName]];
  return issuerOf(name, key, certificate(name, key, name, key, { ...options, ca: true }));
}

/** An issuer with this name and key, even if its certificate may not sign. */
export function issuerOf(name: Subject, key: string, cert: string): Issuer {
  return {
    name,
    cert,
    key,
    issue(subject, options = {}) {
      const own = newKey();
      return { cert: certificate(subject, own, name, key, { ...options, ca: false }), key: own };
    },
    issuer(commonName, options = {}) {
      const own = newKey();
      const ownName: Subject = [['CN', commonName]];
      return issuerOf(ownName, own, certificate(ownName, own, name, key, { ...options, ca: true }));
    },
  };
}

function certificate(
  subject: Subject,
  key: string,
  issuer: Subject,
  issuerKey: string,
  {
    ca,
    notAfter = new Date(Date.now() + (ca ? 3_650 : 1) * DAY),
    forClients = true,
  }: IssueOptions & { readonly ca: boolean },
) {
  const toBeSigned = sequence(
    encode(0xa0, encode(0x02, [2])),
    encode(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    nameOf(issuer),
    sequence(time(new Date(Date.now() - DAY)), time(notAfter)),
    nameOf(subject),
    createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'der' }),
    encode(0xa3, sequence(basicConstraints(ca), ...(ca ? [] : [purpose(forClients)]))),
  );
  const signature = sign('sha256', toBeSigned, createPrivateKey(issuerKey));
  const der = sequence(
    toBeSigned,
    ECDSA_WITH_SHA256,
    encode(0x03, Buffer.concat([Buffer.from([0]), signature])),
  );
  const lines = der.toString('base64').replace(/(.{64})(?=.)/g, '$1\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

function newKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function nameOf(subject: Subject) {
  return sequence(
    ...subject.map((rdn) => {
      const attributes = isAttribute(rdn) ? [rdn] : rdn;
      return encode(
        0x31,
        ...attributes.map(([type, value, tag = UTF8_STRING]) =>
          sequence(encode(0x06, TYPES[type]), encode(tag, Buffer.from(value))),
        ),
      );
    }),
  );
}

function isAttribute(rdn: Subject[number]): rdn is Attribute {
  return typeof rdn[0] === 'string';
}

function basicConstraints(ca: boolean) {
  const value = sequence(...(ca ? [encode(0x01, [0xff])] : []));
  return sequence(encode(0x06, [0x55, 0x1d, 0x13]), encode(0x01, [0xff]), encode(0x04, value));
}

/** The purpose clientAuth or serverAuth, RFC 5280 §4.2.1.12. */
function purpose(forClients: boolean) {
  const value = sequence(encode(0x06, [0x2b, 6, 1, 5, 5, 7, 3, forClients ? 2 : 1]));
  return sequence(encode(0x06, [0x55, 0x1d, 0x25]), encode(0x04, value));
}

function time(date: Date) {
  return encode(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]|\.\d+Z$/g, '')}Z`));
}

function sequence(...parts: readonly Buffer[]) {
  return encode(0x30, ...parts);
}

function encode(tag: number, ...parts: readonly (Buffer | readonly number[])[]) {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const { length } = content;
  const octets =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...octets]), content]);
}
