/** Tables of tests as text: one line a case, with cells between vertical bars. */

export function rows(text: string) {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [first = '', second = '', third = '', fourth = ''] = line.split('|').map((cell) => cell.trim());
      return [first, second, third, fourth] as const;
    });
}
