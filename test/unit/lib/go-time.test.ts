import t from 'tap';
import { parseTimestamp } from '../../../src/lib/go-time.ts';

t.test('an instant in RFC 3339 is read in any zone', async (t) => {
  const instant = Date.UTC(2027, 2, 31, 10, 30);
  t.equal(parseTimestamp('2027-03-31T10:30:00Z'), instant);
  t.equal(parseTimestamp('2027-03-31T12:30:00+02:00'), instant);
  t.equal(parseTimestamp('2027-03-31T10:30:00.250Z'), instant + 250);
});

t.test('other text is no instant, nor is a day that the month does not have', async (t) => {
  for (const text of [
    '',
    'never',
    '2027-03-31',
    '2027-03-31T10:30:00',
    '2027-03-31T10:30Z',
    '2027-03-31T25:00:00Z',
    '2027-02-30T00:00:00Z',
    '2027-13-01T00:00:00Z',
    '2027-00-10T00:00:00Z',
    ' 2027-03-31T10:30:00Z',
    '+012027-03-31T10:30:00Z',
    '1900000000',
  ])
    t.equal(parseTimestamp(text), undefined, text);
});
