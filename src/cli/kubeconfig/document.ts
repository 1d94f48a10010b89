/**
 * The text of a kubeconfig as a document. It may hold tokens and passwords, and the parser's own words would quote them.
 */
import { type Document, parseDocument } from 'yaml';
import { noYAML, UNUSABLE_ALIASES } from '../../lib/yaml-mistake.ts';

/** What is wrong with a kubeconfig, or why nobody can be logged in by it; a sentence for the person. */
export class KubeconfigError extends Error {}

export interface KubeconfigDocument {
  readonly document: Document;
  /** The same as plain values. */
  readonly data: unknown;
}

/**
 * @param file named in what is thrown
 * @throws KubeconfigError that quotes nothing of the text
 */
export function readKubeconfig(text: string, file: string): KubeconfigDocument {
  const document = parseDocument(text);
  const [mistake] = document.errors;
  if (mistake !== undefined) throw new KubeconfigError(`${file} is ${noYAML(mistake)}`);
  try {
    return { document, data: document.toJS({ maxAliasCount: 100 }) };
  } catch {
    throw new KubeconfigError(`${file} is no usable YAML: ${UNUSABLE_ALIASES}`);
  }
}
