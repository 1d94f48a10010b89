/**
 * The object name a field selector asks for: kube-apiserver's RequestInfo names a list or watch of exactly one
 * object by it, so that a right to that one object suffices.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/fields#ParseSelector
 */

/** A backslash takes the next character with it. */
const TERMS = /(?:\\[\s\S]?|[^\\,])+/g;
/** What stands before the first operator is the field, whatever it holds. */
const TERM = /^(?<field>.*?)(?<operator>!=|==|=)(?<value>.*)$/s;
/** In a value a backslash may only escape `\`, `,` and `=`, and the last two must be escaped. */
const VALUE = /^(?:\\[\\,=]|[^\\,=])*$/;

/**
 * @returns undefined where the selector is malformed, asks for no exact name, or for one that is no path segment
 */
export function selectedName(selector: string): string | undefined {
  let name: string | undefined;
  for (const text of termsOf(selector)) {
    const { field, operator, value } = TERM.exec(text)?.groups ?? {};
    if (field === undefined || value === undefined || !VALUE.test(value)) return undefined;
    if (name === undefined && field === 'metadata.name' && operator !== '!=')
      name = value.replace(/\\(.)/g, '$1');
  }
  return name !== undefined && isSegmentName(name) ? name : undefined;
}

/** In the order in which the API server reads them: by their bytes. */
function termsOf(selector: string): string[] {
  const terms = selector.match(TERMS) ?? [];
  return terms.length < 2 ? terms : terms.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

function isSegmentName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/%]/.test(name);
}
