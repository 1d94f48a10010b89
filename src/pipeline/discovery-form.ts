/**
 * In which form a document of discovery is asked for. A client's Accept is free text, and what Stonegate keeps must not
 * multiply with it: it is read as the API server reads it and written anew from the forms that there are.
 * RFC 9110 §12.5.1; https://pkg.go.dev/k8s.io/kube-openapi/pkg/handler
 */

const JSON_TYPE = 'application/json';
/** Only JSON can be reduced; of what the rest says, every client reads JSON. */
const JSON_ONLY: readonly string[] = [JSON_TYPE];
const FORMS: readonly (readonly [path: RegExp, forms: readonly string[]])[] = [
  [
    /^\/openapi\/v2$/,
    [
      JSON_TYPE,
      'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
      'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
    ],
  ],
  [
    /^\/openapi\/v3\//,
    [
      JSON_TYPE,
      'application/com.github.proto-openapi.spec.v3@v1.0+protobuf',
      'application/com.github.proto-openapi.spec.v3.v1.0+protobuf',
    ],
  ],
];
const ANYTHING: ReadonlySet<string> = new Set(['*/*', 'application/*']);
/** More than any client sends; what stands behind is not read. */
const MAX_RANGES = 16;

/**
 * @param accept the client's own, empty where it has none
 * @returns the Accept to ask with: one of a small, fixed number per path
 */
export function discoveryForm(path: string, accept: string): string {
  const forms = FORMS.find(([pattern]) => pattern.test(path))?.[1] ?? JSON_ONLY;
  const [first, ...others] = acceptedForms(accept, forms);
  if (first === undefined) return JSON_TYPE;
  return [first, ...others.map((form, index) => `${form};q=0.${9 - index}`)].join(', ');
}

/** The forms among a client's, its favourite first. */
function acceptedForms(accept: string, forms: readonly string[]): Set<string> {
  const ranges = accept.split(',', MAX_RANGES).map(rangeOf);
  const wanted = ranges.filter(({ quality }) => quality > 0).toSorted((a, b) => b.quality - a.quality);
  const names = wanted.map(({ type }) => (ANYTHING.has(type) ? JSON_TYPE : type));
  return new Set(names.filter((name) => forms.includes(name)));
}

function rangeOf(range: string): { readonly type: string; readonly quality: number } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  const value = quality === undefined ? 1 : Number(quality);
  return { type, quality: value >= 0 && value <= 1 ? value : 0 };
}
