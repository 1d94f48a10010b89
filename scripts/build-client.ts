/**
 * Bundles the commands of users into one file that needs Node and no other file: the file that is named, or
 * `dist/stonegate.cjs`. It is CommonJS, because Node runs that under any name, and in a single executable
 * application. Equal sources give equal bytes.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BuildOptions, build, type PluginBuild } from 'esbuild';
import { OPERATOR_COMMANDS } from '../src/app/operator-commands.ts';

const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));

const MAIN = `import { runClient } from './src/cli/user-commands.ts';
runClient(${JSON.stringify(version)}, ${JSON.stringify(Object.keys(OPERATOR_COMMANDS))}, process.argv.slice(2), {
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
  width: process.stdout.columns,
}).then((code) => { process.exitCode = code; });
`;

const OPTIONS = {
  stdin: { contents: MAIN, resolveDir: '.', loader: 'ts' },
  outfile: process.argv[2] ?? 'dist/stonegate.cjs',
  bundle: true,
  platform: 'node',
  target: 'node22.19',
  format: 'cjs',
  minify: true,
  metafile: true,
  legalComments: 'none',
  // The licences are found where npm has put the packages, wherever node_modules is linked to.
  preserveSymlinks: true,
  // Only the function that reads package.json uses it, and the client does not.
  define: { 'import.meta.url': 'undefined' },
  plugins: [
    {
      name: 'zod',
      // esbuild leaves out what is not used of `import *`, such as the languages of zod's messages: 370 kB, a
      // fifth of the time of a login with a cached token.
      setup: ({ onLoad }: PluginBuild) =>
        onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => ({
          contents: readFileSync(path, 'utf8').replace("import { z } from 'zod'", "import * as z from 'zod'"),
          loader: 'ts',
        })),
    },
  ],
} satisfies BuildOptions;

const { metafile, outputFiles } = await build({ ...OPTIONS, write: false });
const packages = Object.keys(metafile.inputs).flatMap(
  (file) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [],
);
const banner = [
  `#!/usr/bin/env node\n/*! stonegate ${version}, Apache-2.0. It contains:`,
  ...[...new Set(packages)].sort().map(licenceOf),
];
mkdirSync(dirname(OPTIONS.outfile), { recursive: true });
writeFileSync(OPTIONS.outfile, `${banner.join('\n\n')}\n*/\n${outputFiles.map(({ text }) => text).join('')}`);
chmodSync(OPTIONS.outfile, 0o755);

/** The licences of all packages ask for their text in copies. */
function licenceOf(folder: string): string {
  const { name, version }: { name: string; version: string } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  );
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${folder} has no licence`);
  return `${name} ${version}\n${readFileSync(join(folder, file), 'utf8').trim().replaceAll('*/', '* /')}`;
}
