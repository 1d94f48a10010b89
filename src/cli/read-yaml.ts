/**
 * Reads YAML that may contain secrets, such as a kubeconfig or clouds.yaml: errors quote nothing of it.
 */
import {
  type Document,
  type DocumentOptions,
  type ParseOptions,
  parseDocument,
  type SchemaOptions,
} from 'yaml';
import { noYAML, UNUSABLE_ALIASES } from '../lib/yaml-mistake.ts';

/**
 * @param file named in errors
 * @returns the document, also as plain values
 * @throws Error
 */
export function readYAML(
  text: string,
  file: string,
  options: ParseOptions & DocumentOptions & SchemaOptions = {},
): { readonly document: Document; readonly data: unknown } {
  const document = parseDocument(text, options);
  const [mistake] = document.errors;
  if (mistake !== undefined) throw new Error(`${file} is ${noYAML(mistake)}`);
  try {
    return { document, data: document.toJS({ maxAliasCount: 100 }) };
  } catch {
    throw new Error(`${file} is no usable YAML: ${UNUSABLE_ALIASES}`);
  }
}
