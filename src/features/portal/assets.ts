/**
 * The icon of the portal, the client that it serves, and the version of both.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hasCode } from '../../lib/error-code.ts';
import { constant } from '../../lib/html.ts';

const SHAPE =
  '<rect width="32" height="32" rx="7" fill="#0a5aa8"/><path fill="#fff" d="M6 26V14a10 10 0 0 1 20 0v12h-6V14a4 4 0 0 0-8 0v12z"/><path stroke="#0a5aa8" stroke-width="1.6" d="M6 20h6M20 20h6M16 3.5V10M8.6 6.9l4.4 4.4M23.4 6.9 19 11.300"/>';

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${SHAPE}</svg>\n`;
export const DRAWING = constant(`<svg viewBox="0 0 32 32" aria-hidden="true">${SHAPE}</svg>`);

export const CLIENT_PATH = '/stonegate.cjs';

/** The `stonegate` command of users, one file for Node. */
export interface Client {
  readonly file: Buffer;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** @returns undefined in a checkout in which `npm run build` was not run */
export function readClient(): Client | undefined {
  try {
    const file = readFileSync(new URL('../../../dist/stonegate.cjs', import.meta.url));
    return { file, sha256: hash('sha256', file) };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** The version in `package.json`. */
export function readVersion(): string {
  const file = new URL('../../../package.json', import.meta.url);
  const { version }: { version: string } = JSON.parse(readFileSync(file, 'utf8'));
  return version;
}
