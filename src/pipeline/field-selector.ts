/**
 * The object name a field selector asks for: kube-apiserver's RequestInfo names a list or watch of exactly one
 * object by it, so that a right to that one object suffices.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/fields#ParseSelector
 */

/** A backslash takes the next character with it. */
const TERMS = /(?:\\[\s\S]?|[^\\,])+/g;
/** In a value a backslash may only escape `\`, `,` and `=`, and the last two must be escaped. */
const VALUE = /^(?:\\[\\,=]|[^\\,=])*$/;

/**
 * The API server looks at the terms in the order of their bytes. Only those for the name are compared, since the selector
 * comes from clients that are not known yet and may have very many terms.
 *
 * @returns undefined if the selector is malformed, asks for no exact name, or for one that is no path segment
 */
export function selectedName(selector: string): string | undefined {
  let first: { readonly bytes: Buffer; readonly value: string } | undefined;
  for (const text of selector.match(TERMS) ?? []) {
    const term = termOf(text);
    if (term === undefined) return undefined;
    if (term.field !== 'metadata.name' || term.negated) continue;
    const bytes = Buffer.from(text);
    if (first === undefined || Buffer.compare(bytes, first.bytes) < 0) first = { bytes, value: term.value };
  }
  const name = first?.value.replace(/\\(.)/g, '$1');
  return name !== undefined && isSegmentName(name) ? name : undefined;
}

/** What stands before the first operator (`!=`, `==` or `=`) is the field, whatever it holds. */
function termOf(text: string): { field: string; negated: boolean; value: string } | undefined {
  const at = text.indexOf('=');
  if (at === -1) return undefined;
  const negated = text[at - 1] === '!';
  const value = text.slice(!negated && text[at + 1] === '=' ? at + 2 : at + 1);
  return VALUE.test(value) ? { field: text.slice(0, negated ? at - 1 : at), negated, value } : undefined;
}

function isSegmentName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/%]/.test(name);
}
