/**
 * Moments in words. The server does not know where the reader's clock hangs, so they are in UTC, with how far off they
 * are beside.
 */

const UNITS: readonly (readonly [name: string, milliseconds: number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

const FORMAT = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

/** @returns such as `21 November 2026 at 03:15 UTC` */
export function inWords(moment: number): string {
  return `${FORMAT.format(moment)} UTC`;
}

/** @returns such as `59 minutes`, rounded down; `less than a minute` */
export function spanInWords(milliseconds: number): string {
  for (const [name, length] of UNITS) {
    const count = Math.floor(milliseconds / length);
    if (count >= 1) return `${count} ${name}${count === 1 ? '' : 's'}`;
  }
  return 'less than a minute';
}
