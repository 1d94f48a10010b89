/** The Helm chart rendered by Helm, and the overlays rendered by kubectl, as objects. */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { helm } from './kubernetes/programs.ts';

export const CHART = 'config/charts/stonegate';

/** Every sample of values, by its file name without `.yaml`. */
export const SAMPLES: ReadonlyMap<string, string> = new Map(
  globSync(`${CHART}/ci/*.yaml`)
    .sort()
    .map((file) => [basename(file, '.yaml'), file]),
);

export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly rules?: readonly unknown[];
  readonly subjects?: readonly unknown[];
  readonly spec?: WorkloadSpec;
}

/** The fields that tests read of a Deployment or of Helm's test pod. */
interface WorkloadSpec {
  readonly containers?: readonly { readonly command: readonly string[] }[];
  readonly template?: { readonly metadata: object; readonly spec: PodSpec };
}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly {
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  }[];
  readonly volumes: readonly unknown[];
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Helm, with its own files in `folder`. */
export function runHelm(folder: string, words: readonly string[]): Ran {
  const env = {
    ...process.env,
    HELM_CACHE_HOME: join(folder, 'cache'),
    HELM_CONFIG_HOME: join(folder, 'config'),
    HELM_DATA_HOME: join(folder, 'data'),
  };
  const { status, stdout, stderr } = spawnSync(helm(), words, { encoding: 'utf8', env });
  return { code: status, stdout, stderr };
}

/** `helm template` as release `stonegate` in namespace `stonegate`. */
export function template(folder: string, file: string, ...words: readonly string[]): Ran {
  const release = ['template', 'stonegate', CHART, '--namespace', 'stonegate'];
  return runHelm(folder, [...release, '--kube-version', '1.36.0', '--values', file, ...words]);
}

/** The objects of a release with these values. Throws if Helm refuses them. */
export function render(
  folder: string,
  values: string | object,
  ...words: readonly string[]
): ManifestObject[] {
  const file = typeof values === 'string' ? values : join(folder, 'values.yaml');
  if (typeof values !== 'string') writeFileSync(file, asciiOf(values));
  const { code, stdout, stderr } = template(folder, file, ...words);
  if (code !== 0) throw new Error(`helm template ${file}: ${stderr}`);
  return objectsOf(stdout);
}

/** JSON that every YAML parser reads in the same way. */
function asciiOf(values: object) {
  return JSON.stringify(values).replace(
    /[\u007f-\ud7ff\ue000-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function objectsOf(text: string): ManifestObject[] {
  return parseAllDocuments(text)
    .map((document): ManifestObject | null => document.toJS())
    .filter((object) => object !== null);
}

export function valuesOf(file: string): Readonly<Record<string, unknown>> {
  return parse(readFileSync(file, 'utf8'));
}

/** The object of this kind and name, which must exist. */
export function find(objects: readonly ManifestObject[], kind: string, name = 'stonegate'): ManifestObject {
  const object = objects.find((each) => each.kind === kind && each.metadata.name === name);
  if (object === undefined) throw new Error(`no ${kind} ${name}`);
  return object;
}

export function podTemplateOf(objects: readonly ManifestObject[]): NonNullable<WorkloadSpec['template']> {
  const pods = find(objects, 'Deployment').spec?.template;
  if (pods === undefined) throw new Error('the Deployment has no pod template');
  return pods;
}

/** The text of the configuration in the ConfigMap. */
export function configurationOf(objects: readonly ManifestObject[]) {
  return find(objects, 'ConfigMap').data?.['stonegate.yaml'] ?? '';
}
