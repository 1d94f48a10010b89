/** The output of `stonegate manifests`, as objects and in the store of the stand-in. */
import { parseAllDocuments } from 'yaml';
import { manifests } from '../../src/app/commands/manifests.ts';
import { isObject, type JsonObject } from './apiserver/json.ts';
import type { Seed } from './apiserver/seed.ts';
import { printedBy } from './printed-io.ts';

export function manifestsIn(text: string): JsonObject[] {
  return parseAllDocuments(text).map((document) => {
    const object: unknown = document.toJS();
    if (!isObject(object) || !isObject(object.metadata)) throw new TypeError('a manifest is no object');
    return object;
  });
}

export async function printedManifests(...argv: readonly string[]): Promise<JsonObject[]> {
  const { code, stdout, stderr } = await printedBy(manifests, argv);
  if (code !== 0) throw new Error(`manifests ${argv[0]} ended with ${code}: ${stderr}`);
  return manifestsIn(stdout);
}

/** @param marks members of their metadata besides name and labels */
export function seedManifests(
  seed: Seed,
  objects: readonly JsonObject[],
  marks: JsonObject = {},
  place: { readonly tenant?: string } = {},
) {
  for (const { apiVersion, kind, metadata, ...body } of objects) {
    const { name, labels = {} } = isObject(metadata) ? metadata : {};
    const resource = `${String(apiVersion)}/${String(kind).toLowerCase()}s`;
    seed.object(resource, String(name), { metadata: { ...marks, labels }, ...body }, place);
  }
}
