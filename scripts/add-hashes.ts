/**
 * Adds to each component of the bill of materials the hash that `package-lock.json` has of its package, and
 * that npm compares when it installs: cyclonedx-npm leaves it out where the lock has no address of the
 * registry.
 * https://cyclonedx.org/docs/1.6/json/#components_items_hashes
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { readLock } from './package-lock.ts';

const FILE = 'dist/sbom.cdx.json';

interface Component {
  readonly name: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

const bill: { readonly components: readonly Component[] } = JSON.parse(readFileSync(FILE, 'utf8'));
const { packages } = readLock();

const components = bill.components.map((component) => {
  const path = component.properties?.find(({ name }) => name === 'cdx:npm:package:path')?.value ?? '';
  const [, digest] = /^sha512-(\S+)$/.exec(packages[path]?.integrity ?? '') ?? [];
  if (digest === undefined) throw new Error(`package-lock.json has no SHA-512 hash of ${component.name}`);
  const content = Buffer.from(digest, 'base64').toString('hex');
  return { ...component, hashes: [{ alg: 'SHA-512', content }] };
});
writeFileSync(FILE, `${JSON.stringify({ ...bill, components }, null, 2)}\n`);
