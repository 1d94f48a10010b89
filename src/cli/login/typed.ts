/**
 * A command line as a person can type it. A kubeconfig hands its words over as they are, a shell would take some of them
 * apart.
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02 (quoting)
 */

/**
 * The token that it prints is for kubectl, not for a screen.
 *
 * @param argv of `stonegate login`, without secrets: it refuses those in options
 */
export function typed(argv: readonly string[]): string {
  return ['stonegate', 'login', ...argv.map(quoted), '>/dev/null'].join(' ');
}

function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd').replaceAll("'", "'\\''")}'`;
}
