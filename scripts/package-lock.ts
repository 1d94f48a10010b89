/**
 * `package-lock.json`, as far as the scripts read it.
 * https://docs.npmjs.com/cli/v11/configuring-npm/package-lock-json
 */
import { readFileSync } from 'node:fs';

export interface LockedPackage {
  /** A Subresource Integrity string; the package itself, at the path '', has none. */
  readonly integrity?: string;
  /** Whether only development dependencies need it. */
  readonly dev?: boolean;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export interface PackageLock {
  /** By path, such as `node_modules/zod`; '' is Stonegate. */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

export function readLock(): PackageLock {
  return JSON.parse(readFileSync('package-lock.json', 'utf8'));
}
