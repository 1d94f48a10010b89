/**
 * The objects that `stonegate manifests crds`, `roles` and `admission` print in shared mode, for the chart's
 * templates, which cannot run Stonegate. What a configuration or a release decides is a placeholder.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { parseAllDocuments } from 'yaml';
import { manifests } from '../src/app/commands/manifests.ts';

export const CHART_OBJECTS = 'config/charts/stonegate/files/objects.json';

/** Kinds of the group `placeholder` are replaced by those of the configuration, ports by its ports. */
const CONFIGURATION = {
  apiVersion: 'stonegate.dev/v1alpha1',
  kind: 'StonegateConfiguration',
  tenancy: { mode: 'shared' },
  admission: {
    bind: '0.0.0.0:65001',
    tls: { certFile: 'tls.crt', keyFile: 'tls.key' },
    systemKinds: ['systemkinds.placeholder'],
  },
  admin: { bind: '0.0.0.0:65002' },
};
/** With one of these the process has a credential at the API server. */
const SECTIONS = {
  publishing: { namespaces: ['placeholder'], kinds: ['placeholder/v1/publishing'] },
  quota: { default: { pods: '1' }, count: ['placeholder/v1/quota'] },
};
const UPSTREAM = { server: 'https://kubernetes.default.svc', credential: { tokenFile: 'token' } };

/** The text of the chart's file. */
export async function chartObjects(): Promise<string> {
  const { publishing, quota } = SECTIONS;
  const content = {
    crds: objectsIn(await printed('crds', '--mode', 'shared')),
    roles: objectsIn(await printed('roles', '--mode', 'shared')),
    /** By the sections that the configuration has. */
    admission: {
      '': await admission({}),
      publishing: await admission({ upstream: UPSTREAM, publishing }),
      quota: await admission({ upstream: UPSTREAM, quota }),
      'publishing quota': await admission({ upstream: UPSTREAM, publishing, quota }),
    },
  };
  const lines = Object.entries(content).map(([key, value]) => `  "${key}": ${JSON.stringify(value)}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

async function admission(sections: object): Promise<object[]> {
  const folder = mkdtempSync(join(tmpdir(), 'chart-'));
  const [config, authority] = [join(folder, 'stonegate.json'), join(folder, 'ca.crt')];
  const [ca = ''] = rootCertificates;
  try {
    writeFileSync(config, JSON.stringify({ ...CONFIGURATION, ...sections }));
    writeFileSync(authority, ca);
    const files = ['--config', config, '--ca-file', authority];
    const text = await printed('admission', ...files, '--namespace', 'placeholder-namespace');
    return objectsIn(text.replace(/caBundle: .*/g, 'caBundle: placeholder'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function printed(...words: readonly string[]): Promise<string> {
  let [text, problems] = ['', ''];
  const io = {
    stdout: (part: string) => {
      text += part;
    },
    stderr: (part: string) => {
      problems += part;
    },
  };
  if ((await manifests(words, io, { readFile, env: {} })) !== 0)
    throw new Error(`manifests ${words[0]}: ${problems}`);
  return text;
}

function objectsIn(text: string): object[] {
  return parseAllDocuments(text).map((document): object => document.toJS());
}
