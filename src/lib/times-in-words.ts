/**
 * Times and durations in words, for pages and messages. Times are in UTC, because the server does not know
 * the user's time zone.
 */

function createFormats() {
  return {
    time: new Intl.DateTimeFormat('en-GB', {
      day: 'numeric',
      month: 'long',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      timeZone: 'UTC',
    }),
    relative: new Intl.RelativeTimeFormat('en-GB'),
  };
}

/** The formats are made for the first page, so that processes start sooner. */
let formats: ReturnType<typeof createFormats> | undefined;

const MINUTE = ['minute', 60_000] as const;
const UNITS = [['day', 86_400_000], ['hour', 3_600_000], MINUTE] as const;

/** Writes the time in the largest unit of which there are two or more, so that rounding hides little. */
function rounded(milliseconds: number) {
  const [unit, length] = UNITS.find((each) => Math.abs(milliseconds) >= 2 * each[1]) ?? MINUTE;
  return { unit, count: Math.round(milliseconds / length) };
}

/** A time in milliseconds since the epoch, or in RFC 3339: `21 November 2026 at 03:15 UTC`, `in 7 days`. */
export function timeInWords(time: string | number, now: number): readonly [date: string, fromNow: string] {
  const date = new Date(time);
  const { count, unit } = rounded(date.getTime() - now);
  formats ??= createFormats();
  return [`${formats.time.format(date)} UTC`, formats.relative.format(count, unit)];
}

export function formatTime(time: string | number, now: number): string {
  return timeInWords(time, now).join(', ');
}

/** `90 days`, `36 hours`. */
export function formatDuration(milliseconds: number): string {
  const { count, unit } = rounded(milliseconds);
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
