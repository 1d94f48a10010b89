/**
 * Finds the files and secrets that a document names, by its schema. They are read, checked and watched from
 * this list.
 */
import { resolve } from 'node:path';
import { z } from 'zod';
import { type ContentKind, NAMED, type SecretSource } from '../lib/schema-files.ts';
import type { Path } from './problem.ts';

export interface Reference {
  readonly path: Path;
  readonly source: SecretSource;
  readonly content: ContentKind;
}

/**
 * Makes the file names in a document absolute.
 *
 * @param document as it was parsed; it is changed
 * @param folder to which its file names are relative
 * @returns the files that are to be read, and environment variables
 */
export function resolveNames(schema: z.ZodType, document: unknown, folder: string): Reference[] {
  const found: Reference[] = [];
  function visit(schema: unknown, value: unknown, path: Path, replace: (name: string) => void): void {
    const named = schema instanceof z.ZodType ? NAMED.get(schema) : undefined;
    if (named !== undefined) {
      // An empty name would become that of the folder; the schema refuses it.
      if (typeof value !== 'string' || value === '') return;
      const { by, content } = named;
      const name = by === 'file' ? resolve(folder, value) : value;
      if (by === 'file') replace(name);
      const source = by === 'file' ? { fromFile: name } : { fromEnv: name };
      if (content !== undefined) found.push({ path, source, content });
    } else if (schema instanceof z.ZodObject) visitMembers(Object.entries(schema.shape), value, path);
    else if (schema instanceof z.ZodRecord)
      visitMembers(
        Object.keys(value ?? {}).map((key) => [key, schema.valueType]),
        value,
        path,
      );
    else if (schema instanceof z.ZodArray && Array.isArray(value))
      value.forEach((item: unknown, at) => {
        visit(schema.element, item, [...path, at], (name) => {
          value[at] = name;
        });
      });
    else if (schema instanceof z.ZodUnion) {
      const isLiteral = schema.options.some(
        (option) => option instanceof z.ZodLiteral && option.value === value,
      );
      if (!isLiteral) for (const option of schema.options) visit(option, value, path, replace);
    } else if (schema instanceof z.ZodPipe) {
      visit(schema.in, value, path, replace);
      visit(schema.out, value, path, replace);
    } else if (
      schema instanceof z.ZodExactOptional ||
      schema instanceof z.ZodDefault ||
      schema instanceof z.ZodPrefault
    )
      visit(schema.unwrap(), value, path, replace);
  }
  function visitMembers(schemas: readonly (readonly [string, unknown])[], value: unknown, path: Path): void {
    if (!isMapping(value)) return;
    for (const [key, schema] of schemas)
      visit(schema, value[key], [...path, key], (name) => {
        value[key] = name;
      });
  }
  visit(schema, document, [], () => {});
  return found;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
