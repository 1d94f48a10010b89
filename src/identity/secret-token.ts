/**
 * The form of the secrets that Stonegate issues itself: a prefix, the id of the object that describes the
 * secret, the secret, and a checksum, so that a typo is refused without a look-up and scanners find leaked
 * ones. Only a digest is stored.
 */
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Random } from '../lib/random.ts';

/** `sgt_`: an access token; `sgi_`: an invitation. */
export type SecretPrefix = 'sgt_' | 'sgi_';

export interface NewSecret {
  readonly id: string;
  readonly text: string;
  readonly digest: string;
}

const LOWER = '0123456789abcdefghijklmnopqrstuvwxyz';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 8;
const SECRET_LENGTH = 32;
const FORM = /^(sg[it]_)([0-9a-z]{8})([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

/** @param id of the object, if it is there already and gets another secret */
export function newSecret(
  prefix: SecretPrefix,
  random: Pick<Random, 'bytes'>,
  id = randomText(ID_LENGTH, LOWER, random),
): NewSecret {
  const body = `${prefix}${id}${randomText(SECRET_LENGTH, BASE62, random)}`;
  const text = `${body}${checksum(body)}`;
  return { id, text, digest: digestOfSecret(text) };
}

/** @returns the id of the object; undefined for a text that is no such secret, or has a typo */
export function idOfSecret(prefix: SecretPrefix, text: string): string | undefined {
  const [, found, id, secret, sum] = FORM.exec(text) ?? [];
  return found === prefix && sum === checksum(`${found}${id}${secret}`) ? id : undefined;
}

/** SHA-256 in hexadecimal: the secret is random, so that nothing slower is needed. */
export function digestOfSecret(text: string): string {
  return hash('sha256', text);
}

function checksum(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let digits = 0; digits < 6; digits += 1) {
    text = `${BASE62[rest % BASE62.length]}${text}`;
    rest = Math.floor(rest / BASE62.length);
  }
  return text;
}

/** Bytes beyond the last multiple of the alphabet's length are skipped, so that no character is likelier. */
function randomText(length: number, alphabet: string, random: Pick<Random, 'bytes'>): string {
  const usable = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length)
    for (const byte of random.bytes(length))
      if (byte < usable && text.length < length) text += alphabet[byte % alphabet.length];
  return text;
}
