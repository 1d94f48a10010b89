import fc from 'fast-check';
import t from 'tap';
import { constant, html } from '../../../src/portal/html.ts';

t.test('what is put in is escaped, for text and for attributes', async (t) => {
  const { text } = html`<a title="${`"'><script>&`}">${'</a><b>'}</a>`;
  t.equal(text, '<a title="&quot;&#39;&gt;&lt;script&gt;&amp;">&lt;/a&gt;&lt;b&gt;</a>');
});

t.test('what is HTML already is not escaped again, alone and in lists', async (t) => {
  const items = ['a', '<'].map((item) => html`<li>${item}</li>`);
  t.equal(html`<ul>${items}</ul>${constant('<hr>')}`.text, '<ul><li>a</li><li>&lt;</li></ul><hr>');
});

t.test('nothing comes of what is left out, and zero is something', async (t) => {
  t.equal(html`[${undefined}${false}${0}]`.text, '[0]');
});

t.test('no text ends an attribute or begins an element', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      const { text } = html`${value}`;
      return !/[<>"']/.test(text);
    }),
  );
});
