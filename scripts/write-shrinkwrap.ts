/**
 * Writes `npm-shrinkwrap.json`, the lock that the packed package contains: npm installs from a registry the
 * versions that were tested, with their hashes. Development dependencies are not in it.
 * https://docs.npmjs.com/cli/v11/configuring-npm/npm-shrinkwrap-json
 */
import { writeFileSync } from 'node:fs';
import { readLock } from './package-lock.ts';

const { packages, ...lock } = readLock();
const { '': root, ...dependencies } = packages;
const { devDependencies: _, ...self } = root ?? {};
const needed = Object.entries(dependencies).filter(([, { dev = false }]) => !dev);
const shrinkwrap = { ...lock, packages: { '': self, ...Object.fromEntries(needed) } };
writeFileSync('npm-shrinkwrap.json', `${JSON.stringify(shrinkwrap, null, 2)}\n`);
