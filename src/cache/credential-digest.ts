/**
 * The digest that identifies a credential in caches; the credential cannot be computed from it.
 */
import { hash } from 'node:crypto';
import { memoizeByReference } from '../lib/memoize.ts';

/** A credential's text; or an object with it that comes again and again, so that its digest is made once. */
export type Digestible = string | { readonly token: string };

/** SHA-256 in base64url. */
export function digestOf(credential: Digestible): string {
  return typeof credential === 'string' ? digestOfText(credential) : digestOfToken(credential);
}

const digestOfToken = memoizeByReference(({ token }: { readonly token: string }) => digestOfText(token));

function digestOfText(text: string): string {
  return hash('sha256', text, 'base64url');
}
