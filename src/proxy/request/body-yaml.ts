/**
 * Reads a YAML body as the JSON that is forwarded in its place, since two YAML parsers rarely agree on all of
 * a text. What has no form in JSON, or could be read in two ways, is refused. https://yaml.org/spec/1.2.2/
 */
import { isScalar, parseDocument, visit } from 'yaml';
import { isExactNumber } from '../../lib/strict-json.ts';

/**
 * The parser takes some five microseconds a byte, and up to ten if the text is no YAML, and a tenant's users
 * may send as much as they like.
 */
export const MAX_YAML_BYTES = 8 * 1024;

/**
 * @returns plain data
 * @throws SyntaxError with a message that repeats nothing of the text
 */
export function parseYAMLBody(bytes: Uint8Array): unknown {
  const document = parseDocument(decodeUTF8(bytes), { prettyErrors: false, uniqueKeys: false, merge: false });
  if (document.errors.length > 0 || document.warnings.length > 0) throw new SyntaxError('it is not YAML');
  visit(document, {
    Alias() {
      throw new SyntaxError('aliases are not read');
    },
    Map(_, { items }) {
      const keys = items.map(({ key }) => keyName(key));
      if (new Set(keys).size < keys.length) throw new SyntaxError('a key occurs twice in one map');
    },
    Scalar(_, { value }) {
      if (typeof value === 'number' && !isExactNumber(value))
        throw new SyntaxError('a number cannot be kept exactly: send JSON');
      if (typeof value === 'string' && !value.isWellFormed())
        throw new SyntaxError('a string holds half of a surrogate pair');
    },
  });
  return document.toJS({ maxAliasCount: 0 });
}

function decodeUTF8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SyntaxError('it is not UTF-8', { cause });
  }
}

function keyName(key: unknown): string {
  if (isScalar(key) && typeof key.value === 'string') return key.value;
  throw new SyntaxError('a key is no string');
}
