import fc from 'fast-check';
import t from 'tap';
import { constant, html } from '../../../src/lib/html.ts';

t.test('values are escaped, in text and in attributes', async (t) => {
  const { text } = html`<a title="${`"'><script>&`}">${'</a><b>'}</a>`;
  t.equal(text, '<a title="&quot;&#39;&gt;&lt;script&gt;&amp;">&lt;/a&gt;&lt;b&gt;</a>');
});

t.test('HTML is not escaped again, alone or in a list', async (t) => {
  const items = ['a', '<'].map((item) => html`<li>${item}</li>`);
  t.equal(html`<ul>${items}</ul>${constant('<hr>')}`.text, '<ul><li>a</li><li>&lt;</li></ul><hr>');
});

t.test('undefined and false render as nothing, zero as 0', async (t) =>
  t.equal(html`[${undefined}${false}${0}]`.text, '[0]'),
);

t.test('no value ends an attribute or begins an element', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      const { text } = html`${value}`;
      return !/[<>"']/.test(text);
    }),
  );
});
