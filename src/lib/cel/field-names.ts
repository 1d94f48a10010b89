/**
 * Claims whose names are no identifiers, as kube-apiserver has them in expressions: `claims.example__dot__com` is the
 * claim `example.com`. Its rules are followed exactly, also if they find nothing.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/cel#Unescape
 */

const SYMBOLS: Readonly<Record<string, string>> = { underscores: '__', dot: '.', dash: '-', slash: '/' };
const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** @returns the name meant; the same if nothing is escaped; undefined if an escape is none of those known */
export function unescaped(name: string): string | undefined {
  let valid = true;
  const result = name.replaceAll(/__[^_]+__/g, (sequence) => {
    const content = sequence.slice(2, -2);
    const symbol = Object.hasOwn(SYMBOLS, content) ? SYMBOLS[content] : undefined;
    if (symbol !== undefined) return symbol;
    if (!RESERVED.has(content) || sequence.length !== name.length) valid = false;
    return content;
  });
  return valid ? result : undefined;
}

/** @returns undefined if nothing is escaped, or wrongly */
export function unescapedName(name: string): string | undefined {
  const result = unescaped(name);
  return result === name ? undefined : result;
}
