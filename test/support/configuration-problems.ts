/** Parses a small configuration with other sections, for tests of the problems that the operator sees. */
import { parseStonegate } from '../../src/app/configuration.ts';
import type { LoadSources } from '../../src/config/load.ts';
import { formatProblem } from '../../src/config/problem.ts';

/** The sections that every configuration has. */
const SECTIONS = {
  apiVersion: 'stonegate.dev/v1alpha1',
  kind: 'StonegateConfiguration',
  server: '{ tls: { certFile: tls.crt, keyFile: /etc/tls.key } }',
  upstream: '{ server: "https://10.0.0.1:6443", credential: { tokenFile: token } }',
  tenancy: '{ mode: arktos }',
  authentication: '{ keystone: { url: "https://keystone:5000/v3" } }',
};

/**
 * @param sections YAML of one line each, which replace the usual sections or are added to them
 * @param rest YAML after the sections
 */
export function configurationText(sections: Readonly<Record<string, string>>, rest = '') {
  const lines = Object.entries({ ...SECTIONS, ...sections }).map(([name, value]) => `${name}: ${value}\n`);
  return lines.join('') + rest;
}

export function parseSections(...given: Parameters<typeof configurationText>) {
  return parseStonegate(configurationText(...given), '/etc/stonegate');
}

export function problemsOfSections(...given: Parameters<typeof configurationText>) {
  return parseSections(...given).problems.map(formatProblem);
}

/** Sources with these files in the folder /etc/stonegate, and no others. */
export function filesIn(
  files: Readonly<Record<string, string | undefined>>,
  env: LoadSources['env'] = {},
): LoadSources {
  return {
    env,
    async readFile(name) {
      const text = files[name.replace('/etc/stonegate/', '')];
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return Buffer.from(text);
    },
  };
}
