import t from 'tap';
import {
  acceptedRanges,
  bestFirst,
  covers,
  narrowedTo,
  parametersOf,
} from '../../../src/lib/media-ranges.ts';

const JSON_TYPE = 'application/json';
const accepts = (...values: string[]) => values.map((value) => ['Accept', value] as const);

t.test('ranges are sorted by quality, then in the client’s order', async (t) => {
  const texts = (...values: string[]) =>
    bestFirst(acceptedRanges(accepts(...values))).map(({ text }) => text);
  t.same(texts('a/b;q=0.5, c/d', 'e/f'), ['c/d', 'e/f', 'a/b;q=0.5']);
  t.same(texts('a/b;q=x, c/d;q=0.9'), ['a/b;q=x', 'c/d;q=0.9'], 'a quality that is not a number counts as 1');
  t.same(texts(''), [], 'an empty header has no ranges');
});

t.test('a range covers a type as the API server compares them', async (t) => {
  const isCovered = (range: string) => acceptedRanges(accepts(range)).some((one) => covers(one, JSON_TYPE));
  for (const range of ['application/json', 'Application / JSON;as=Table', 'application/*', '*/*;q=0.1'])
    t.ok(isCovered(range), range);
  for (const range of ['application/jsonx', 'text/*', 'application', '*', 'application/*json'])
    t.notOk(isCovered(range), range);
});

t.test('parameter names become lower case, and values stay as they were sent', async (t) => {
  const [range] = acceptedRanges(accepts('application/json; AS=Table ;v=v1;stream'));
  t.same(range && [...parametersOf(range)], [
    ['as', 'Table'],
    ['v', 'v1'],
    ['stream', ''],
  ]);
});

t.test('an Accept header is narrowed to one type, with the client’s parameters', async (t) => {
  for (const [given, left] of [
    [[], JSON_TYPE],
    [[' '], JSON_TYPE],
    [['text/html, */*;q=0.8'], JSON_TYPE],
    [
      ['application/json;as=Table, text/html', 'application/*'],
      'application/json;as=Table, application/json',
    ],
    [['text/html'], undefined],
    [[','], undefined],
  ] as const)
    t.equal(narrowedTo(JSON_TYPE, accepts(...given)), left, given.join(' | '));
});
