/** Limits of the selectors that Stonegate evaluates itself. What they select is tested with the lists. */
import t from 'tap';
import { parseFieldSelector } from '../../../../src/kubernetes/lists/field-selector.ts';
import { MAX_REQUIREMENTS, parseLabelSelector } from '../../../../src/kubernetes/lists/label-selector.ts';

const repeated = (term: string, times: number) => new Array(times).fill(term).join(',');

for (const [kind, parse, term] of [
  ['label', parseLabelSelector, '!a'],
  ['field', parseFieldSelector, 'metadata.name!=a'],
] as const) {
  t.test(`a ${kind} selector may have as many requirements as the limit allows`, async (t) =>
    t.equal(parse(repeated(term, MAX_REQUIREMENTS)).length, MAX_REQUIREMENTS),
  );

  t.test(`a ${kind} selector with more is refused`, async (t) =>
    t.throws(() => parse(repeated(term, MAX_REQUIREMENTS + 1)), {
      code: 'RequestMalformed',
      message: `a ${kind} selector has at most 100 requirements here`,
    }),
  );
}

t.test('one requirement may name many values', async (t) => {
  const values = Array.from({ length: 5_000 }, (_, n) => `v${n}`);
  t.equal(parseLabelSelector(`a in (${values.join(',')})`)[0]?.values.size, 5_000);
});
