/** The pictures of the portal in the documents show its present pages. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { DIGESTS, type Digests, digestOf, PICTURES, picturedPages } from '../support/portal-pictures.ts';

t.test('no picture is older than its page: npm run pictures takes them anew', async (t) => {
  const recorded: Digests = JSON.parse(readFileSync(DIGESTS, 'utf8'));
  const pages = await picturedPages();
  t.same(Object.keys(recorded).sort(), [...pages.keys()].sort());
  for (const [name, content] of pages)
    t.same(recorded[name], {
      page: digestOf(content),
      picture: digestOf(readFileSync(`${PICTURES}/${name}.png`)),
    });
});
