/** Test data written as text, which is easier to read and compare than nested lists. */

/** Calls back for each line of a table, one after the other, with its cells: ` | ` separates columns. */
export async function eachRow(table: string, use: (...cells: string[]) => unknown): Promise<void> {
  for (const line of linesOf(table)) await use(...cellsOf(line));
}

/** The lines of a table with up to four columns; a cell that is missing is empty. */
export function rows(table: string) {
  return linesOf(table).map((line) => {
    const [first = '', second = '', third = '', fourth = ''] = cellsOf(line);
    return [first, second, third, fourth] as const;
  });
}

/** The lines of a text, without their indentation. */
export function linesOf(text: string): string[] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim());
}

function cellsOf(line: string): string[] {
  return line.split(/(?:^|\s)\|(?=\s|$)/).map((cell) => cell.trim());
}
