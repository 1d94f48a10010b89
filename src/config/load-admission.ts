/**
 * Loads the part of a configuration that `stonegate serve --only admission` uses. The other sections may be
 * absent, and the files and secrets that they name are not read.
 */
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import type { AdmissionProcessConfiguration } from '../api/config-v1alpha1.ts';
import { reasonOf } from '../lib/file-errors.ts';
import { isJSONObject } from '../lib/json-object.ts';
import { readYAML } from './documents.ts';
import {
  checkPairs,
  checkReference,
  fingerprint,
  type LoadedConfiguration,
  type LoadResult,
  type LoadSources,
} from './load.ts';
import { locator } from './parse.ts';
import { type Finding, type Problem, problemsOfIssue } from './problem.ts';
import { admissionProcessPairs, admissionProcessReferences } from './references.ts';
import { configurationSchema } from './schema.ts';
import { validateAdmission } from './validate-admission.ts';

export interface LoadedAdmission extends Pick<LoadedConfiguration, 'file' | 'digest'> {
  readonly configuration: AdmissionProcessConfiguration;
}

/** @param file relative to the working directory, or absolute */
export async function loadAdmission(
  file: string,
  sources: LoadSources,
): Promise<LoadResult<LoadedAdmission>> {
  const contents = new Map<string, Buffer | undefined>();
  const failures = new Map<string, string>();
  async function read(name: string): Promise<Buffer | undefined> {
    contents.set(name, undefined);
    try {
      contents.set(name, await sources.readFile(name));
    } catch (error) {
      failures.set(name, reasonOf(error));
    }
    return contents.get(name);
  }
  const watched = () => new Map([...contents].map(([name, content]) => [name, fingerprint(content)]));

  const configurationFile = resolve(file);
  const text = await read(configurationFile);
  if (text === undefined) {
    const message = `cannot be read from ${file}: ${failures.get(configurationFile) ?? ''}`;
    return { ok: false, problems: [{ path: '', message }], watched: watched() };
  }
  const document = readYAML(text.toString('utf8'));
  if (!document.ok) return { ok: false, problems: document.problems, watched: watched() };
  const parsed = parse(document.data, dirname(configurationFile));
  const locate = locator(document.lineOf);
  if (!parsed.ok) return { ok: false, problems: locate(parsed.findings), watched: watched() };
  const { configuration } = parsed;
  const references = admissionProcessReferences(configuration);
  for (const { source } of references) if ('fromFile' in source) await read(source.fromFile);
  const findings = [
    ...validateAdmission(configuration),
    ...references.flatMap((reference) => checkReference(reference, { contents, failures, env: {} })),
    ...checkPairs(admissionProcessPairs(configuration), contents),
  ];
  if (findings.length > 0) return { ok: false, problems: locate(findings), watched: watched() };
  return {
    ok: true,
    watched: watched(),
    loaded: {
      configuration,
      digest: fingerprint(Buffer.from(JSON.stringify(configuration))),
      file(name) {
        const content = contents.get(name);
        if (content === undefined) throw new RangeError('the configuration does not name this file');
        return content;
      },
    },
  };
}

/**
 * The configuration alone: its certificate may not exist before the manifests are applied.
 *
 * @param file relative to the working directory, or absolute
 */
export async function readAdmissionConfiguration(
  file: string,
  { readFile }: LoadSources,
): Promise<{
  readonly configuration?: AdmissionProcessConfiguration;
  readonly problems: readonly Problem[];
}> {
  let text: string;
  try {
    text = (await readFile(resolve(file))).toString('utf8');
  } catch (error) {
    return { problems: [{ path: '', message: `cannot be read from ${file}: ${reasonOf(error)}` }] };
  }
  const document = readYAML(text);
  if (!document.ok) return { problems: document.problems };
  const parsed = parse(document.data, dirname(resolve(file)));
  const locate = locator(document.lineOf);
  if (!parsed.ok) return { problems: locate(parsed.findings) };
  const { configuration } = parsed;
  return { configuration, problems: locate(validateAdmission(configuration)) };
}

type ParsedPart =
  | { readonly ok: true; readonly configuration: AdmissionProcessConfiguration }
  | { readonly ok: false; readonly findings: readonly Finding[] };

/** Sections that are not used may hold anything; a section that does not exist is a mistake. */
function parse(data: unknown, folder: string): ParsedPart {
  const { shape } = configurationSchema((name) => resolve(folder, name));
  const { apiVersion, kind, tenancy, admin, log, admission, upstream, publishing } = shape;
  const schema = z.object({
    ...{ apiVersion, kind, tenancy, admin, log, publishing },
    admission: admission.unwrap(),
    upstream: upstream.exactOptional(),
  });
  const unknown = isJSONObject(data) ? Object.keys(data).filter((key) => !(key in shape)) : [];
  const findings: Finding[] = unknown.map((key) => ({ path: [key], message: 'is no known key' }));
  const result = schema.safeParse(data, { reportInput: true });
  if (!result.success)
    return { ok: false, findings: [...findings, ...result.error.issues.flatMap(problemsOfIssue)] };
  if (findings.length > 0) return { ok: false, findings };
  const { apiVersion: _version, kind: _kind, ...configuration } = result.data;
  return { ok: true, configuration };
}
