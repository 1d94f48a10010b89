/**
 * The object name a field selector asks for: kube-apiserver's RequestInfo names a list or watch of exactly one
 * object by it, so that a right to that one object suffices.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/fields#ParseSelector
 */

/** A backslash takes the next character with it. */
const TERMS = /(?:\\[\s\S]?|[^\\,])+/g;
/** In a value a backslash may only escape `\`, `,` and `=`, and those two must be escaped. */
const TERM = /^(?<field>(?:\\.|[^\\=!]|!(?!=))*)(?<operator>!=|==|=)(?<value>(?:\\[\\,=]|[^\\,=])*)$/;

/**
 * @returns undefined where the selector is malformed, asks for no exact name, or for one that is no path segment
 */
export function selectedName(selector: string): string | undefined {
  let name: string | undefined;
  for (const text of selector.match(TERMS) ?? []) {
    const { field, operator, value } = TERM.exec(text)?.groups ?? {};
    if (field === undefined || value === undefined) return undefined;
    if (name === undefined && field === 'metadata.name' && operator !== '!=')
      name = value.replace(/\\(.)/g, '$1');
  }
  return name !== undefined && isSegmentName(name) ? name : undefined;
}

function isSegmentName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/%]/.test(name);
}
