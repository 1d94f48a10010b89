import fc from 'fast-check';
import t from 'tap';
import { parseDuration, parseTimestamp } from '../../../src/lib/go-time.ts';
import { linesOf } from '../../support/rows.ts';

t.test('an instant in RFC 3339 is read with any zone', async (t) => {
  const instant = Date.UTC(2027, 2, 31, 10, 30);
  t.equal(parseTimestamp('2027-03-31T10:30:00Z'), instant);
  t.equal(parseTimestamp('2027-03-31T12:30:00+02:00'), instant);
  t.equal(parseTimestamp('2027-03-31T10:30:00.250Z'), instant + 250);
});

t.test('any other text, or a day that the month does not have, is not an instant', async (t) => {
  for (const text of ['', ' 2027-03-31T10:30:00Z']) t.equal(parseTimestamp(text), undefined, text);
  for (const text of linesOf(`
    2027-03-31
    2027-03-31T10:30:00
    2027-03-31T10:30Z
    2027-03-31T25:00:00Z
    2027-02-30T00:00:00Z
    +012027-03-31T10:30:00Z`))
    t.equal(parseTimestamp(text), undefined, text);
});

t.test('durations are read as Kubernetes writes them', async (t) => {
  const durations = { 0: 0, '60s': 60_000, '1m30s': 90_000, '250ms': 250, '1.5h': 5_400_000 };
  for (const [text, milliseconds] of Object.entries(durations))
    t.equal(parseDuration(text), milliseconds, text);
  for (const text of ['', '60', '-1s', '1d', 's', '1 s', 'NaNs', `${'9'.repeat(30)}h`])
    t.equal(parseDuration(text), undefined, text);
});

t.test('any text is a whole number of milliseconds or not a duration', async () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const parsed = parseDuration(text);
      return parsed === undefined || (Number.isSafeInteger(parsed) && parsed >= 0);
    }),
  );
});
