/**
 * The configuration file `stonegate.dev/v1alpha1`: the sections of the core and of all features.
 * `npm run schema` writes their descriptions to `config/schema/` and `docs/reference/configuration.md`.
 */
import { z } from 'zod';
import { UsageError } from '../cli/command.ts';
import { configurationError } from '../cli/configuration-file.ts';
import type { Build } from '../config/build.ts';
import {
  type Loaded,
  type LoadedConfiguration,
  type LoadResult,
  type LoadSources,
  loadConfiguration,
  loadWithoutIdentities,
  readConfiguration,
  systemSources,
} from '../config/load.ts';
import {
  type ConfigurationFormat,
  type FileContent,
  parseConfiguration,
  parseWithoutIdentities,
} from '../config/parse.ts';
import { broken, formatPath, type Problem, type Rule } from '../config/problem.ts';
import type { Parts } from '../config/scope.ts';
import { upstreamSchema } from '../config/server-configuration.ts';
import type { FeatureDefinition } from '../features/define-feature.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { Output } from '../lib/schema-fields.ts';
import { core } from './core.ts';
import { FEATURES } from './features.ts';

type Intersection<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer I) => void
  ? I
  : never;
type SectionsOf<F extends { readonly sections: z.ZodRawShape }> = Intersection<F['sections']>;

/** Composes the sections of features; the type of a list of them is lost without the assertion. */
function sectionsOf<F extends { readonly sections: z.ZodRawShape }>(features: readonly F[]): SectionsOf<F> {
  return Object.assign({}, ...features.map(({ sections }) => sections)) as SectionsOf<F>;
}

const list = Object.values({ core, ...FEATURES });
const sections = z.strictObject({
  apiVersion: z.literal('stonegate.dev/v1alpha1'),
  kind: z.literal('StonegateConfiguration'),
  ...sectionsOf(list),
});

export const configurationSchema = sections.transform(
  ({ apiVersion: _version, kind: _kind, ...configuration }) => configuration,
);

export type StonegateConfiguration = Output<typeof configurationSchema>;
export type LoadedStonegate = LoadedConfiguration<StonegateConfiguration>;
/** A configuration with what its components need of the process. */
export type StonegateBuild = Build<StonegateConfiguration>;

/** The core and the features with the whole configuration, of which each feature reads a part. */
export const DEFINITIONS: readonly FeatureDefinition<z.ZodRawShape, StonegateConfiguration, Parts>[] = list;

const STONEGATE: ConfigurationFormat<StonegateConfiguration> = {
  schema: configurationSchema,
  rules: (configuration) => [
    ...DEFINITIONS.flatMap((feature) => feature.rules?.(configuration) ?? []),
    ...addressRules(configuration),
  ],
  checkFiles: (configuration, content) =>
    DEFINITIONS.flatMap((feature) => feature.checkFiles?.(configuration, content) ?? []),
};

/** Each listener has an address of its own. */
function addressRules(configuration: StonegateConfiguration): Rule[] {
  const listeners = [
    { name: 'server', bind: configuration.server.bind },
    { name: 'admin', bind: configuration.admin.bind },
    ...DEFINITIONS.flatMap(({ name, listener }) => {
      const settings = listener?.(configuration);
      return settings === undefined ? [] : [{ name, bind: settings.bind }];
    }),
  ];
  return listeners.flatMap(({ name, bind }): Rule[] => {
    const other = listeners.find((listener) => listener.bind === bind);
    if (bind.endsWith(':0') || other === undefined) return [];
    return [
      [[name, 'bind'], other.name !== name, `expected another address than ${other.name}.bind, ${bind}`],
    ];
  });
}

/** Warns of settings for which users miss something, and only the operator can see why. */
export function configurationWarnings(configuration: StonegateConfiguration): Problem[] {
  const rules = DEFINITIONS.flatMap((feature) => feature.warnings?.(configuration) ?? []);
  return broken(rules).map(({ path, message }) => ({ path: formatPath(path), message }));
}

/** @param file relative to the working directory, or absolute */
export function loadStonegate(file: string, sources: LoadSources = systemSources) {
  return loadConfiguration(STONEGATE, file, sources);
}

/**
 * Loads the configuration of a command.
 *
 * @param file the value of `--config`
 * @throws UsageError without a file; ConfigurationError
 */
export async function loadedStonegate(
  file: string | undefined,
  sources?: LoadSources,
): Promise<LoadedStonegate> {
  if (file === undefined) throw new UsageError('--config FILE is required');
  const result = await loadStonegate(file, sources);
  if (result.ok) return result.loaded;
  throw configurationError(file, result.problems);
}

/**
 * A configuration of these sections. Everything that they leave out is at its default.
 *
 * @throws ZodError
 */
export function defaultConfiguration(sections: object): StonegateConfiguration {
  return configurationSchema.parse({
    apiVersion: 'stonegate.dev/v1alpha1',
    kind: 'StonegateConfiguration',
    server: { bind: '0.0.0.0:6443', tls: { certFile: 'tls.crt', keyFile: 'tls.key' } },
    upstream: { server: 'https://kubernetes.default.svc', credential: { tokenFile: 'token' } },
    authentication: {},
    ...sections,
  });
}

/** As `parseConfiguration` does. */
export function parseStonegate(text: string, folder: string, content?: FileContent) {
  return parseConfiguration(STONEGATE, text, folder, content);
}

/** The configuration alone, before the credentials and certificates exist that it names. */
export function readStonegate(file: string, sources: LoadSources) {
  return readConfiguration(file, sources, parseStonegate);
}

const { apiVersion, kind, admin, log, tenancy, ...ofFeatures } = sections.shape;
const { publishing, quota, admission } = ofFeatures;

/**
 * The sections that a process needs which serves only the admission webhook. The sections that it does not
 * use may contain anything. Without `upstream` no rights can be reviewed, and what needs a review is refused.
 */
const admissionProcessSchema = z
  .unknown()
  .superRefine((document, context) => {
    if (!isJSONObject(document)) return;
    const keys = Object.keys(document).filter((key) => !(key in sections.shape));
    if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: document });
  })
  .pipe(
    z.object({
      ...{ apiVersion, kind, tenancy, admin, log, publishing, quota },
      admission: admission.unwrap(),
      upstream: upstreamSchema.exactOptional(),
    }),
  )
  .transform(({ apiVersion: _version, kind: _kind, ...configuration }) => configuration);

export type AdmissionProcessConfiguration = Output<typeof admissionProcessSchema>;
/** Loaded for a process that serves only the admission webhook. */
export type LoadedAdmission = Loaded<AdmissionProcessConfiguration>;

/** The features whose webhooks such a process answers, with the sections that it reads. */
export const OF_ADMISSION: readonly FeatureDefinition<z.ZodRawShape, AdmissionProcessConfiguration, Parts>[] =
  [FEATURES.admission, FEATURES.quota];

/** The same for a process that serves only the admission webhook. */
export interface AdmissionBuild extends Omit<Build, 'loaded'> {
  readonly loaded: LoadedAdmission;
}

const ADMISSION_PROCESS: ConfigurationFormat<AdmissionProcessConfiguration> = {
  schema: admissionProcessSchema,
  rules: (configuration) => FEATURES.admission.rules?.(configuration) ?? [],
  checkFiles: () => [],
};

export function loadAdmission(file: string, sources: LoadSources): Promise<LoadResult<LoadedAdmission>> {
  return loadWithoutIdentities(ADMISSION_PROCESS, file, sources);
}

export function readAdmission(file: string, sources: LoadSources) {
  return readConfiguration(file, sources, (text, folder) =>
    parseWithoutIdentities(ADMISSION_PROCESS, text, folder),
  );
}
