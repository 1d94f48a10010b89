import t from 'tap';
import { formatDuration, formatTime } from '../../../src/lib/times-in-words.ts';

const NOW = Date.UTC(2026, 10, 28, 9);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

t.test('a date is also said as the time from now', async (t) => {
  for (const [later, words] of [
    [7 * DAY, '5 December 2026 at 09:00 UTC, in 7 days'],
    [7 * DAY - 1_000, '5 December 2026 at 08:59 UTC, in 7 days'],
    [36 * HOUR, '29 November 2026 at 21:00 UTC, in 36 hours'],
    [90 * MINUTE, '28 November 2026 at 10:30 UTC, in 90 minutes'],
    [-3 * HOUR, '28 November 2026 at 06:00 UTC, 3 hours ago'],
    [-40 * DAY, '19 October 2026 at 09:00 UTC, 40 days ago'],
  ] as const) {
    t.equal(formatTime(NOW + later, NOW), words);
    t.equal(formatTime(new Date(NOW + later).toISOString(), NOW), words);
  }
});

t.test('a duration is in the largest unit of which there are two', async (t) => {
  for (const [duration, words] of [
    [90 * DAY, '90 days'],
    [DAY, '24 hours'],
    [HOUR, '60 minutes'],
    [MINUTE, '1 minute'],
  ] as const)
    t.equal(formatDuration(duration), words);
});
