/**
 * Text in a `data:` URL, for an option that takes the name of a file: a kubeconfig that users download has no
 * file beside it. RFC 2397.
 */

const BASE64 = 'data:;base64,';

export function toDataURL(text: string): string {
  return `${BASE64}${Buffer.from(text).toString('base64')}`;
}

/** @returns undefined for the name of a file */
export function textOfDataURL(name: string): string | undefined {
  return name.startsWith(BASE64) ? Buffer.from(name.slice(BASE64.length), 'base64').toString() : undefined;
}
