/** The commands in the documents: each block is run by a test, or says why not and was run by hand. */
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import t from 'tap';

/** Pages with a test of their own, which checks that every block is marked `run …` or `not run: …`. */
const FOLLOWED: Readonly<Record<string, string>> = {
  'docs/tutorial.md': 'test/e2e/tutorial.test.ts',
  'docs/tenants.md': 'test/support/tenants-page.ts',
};
const RUN = /^run by (test\/\S+\.test\.ts)$/;
const BY_HAND = /^run by hand, ([0-9a-f]{8}): .+$/;
const NOT_RUN = /^not run: .+$/;

interface Block {
  readonly page: string;
  /** The comment before the block. */
  readonly mark: string;
  readonly text: string;
}

const read = (file: string): string => readFileSync(file, 'utf8');

function blocksOf(page: string): Block[] {
  const fences = /^( *)(?:<!-- ([^\n]*) -->\n\1)?```(?:sh|console)\n(.*?)^\1```/gms;
  return [...read(page).matchAll(fences)].map(([, , mark = '', text = '']) => ({ page, mark, text }));
}

const pages = globSync(['*.md', 'docs/**/*.md', 'config/**/*.md', 'demo/**/*.md']).filter(
  (page) => !page.startsWith('node_modules'),
);
const blocks = pages.filter((page) => !(page in FOLLOWED)).flatMap(blocksOf);

const nameOf = ({ page, text }: Block): string => `${page}: ${text.trim().split('\n')[0]}`;

t.test('each block names the test that runs it, or says why no test does', async (t) => {
  t.ok(blocks.length > 20);
  const silent = blocks.filter(({ mark }) => ![RUN, BY_HAND, NOT_RUN].some((form) => form.test(mark)));
  t.same(silent.map(nameOf), []);
});

t.test('the test that a block names reads its page', async (t) => {
  const all = [
    ...blocks.map(({ page, mark }) => [page, RUN.exec(mark)?.[1]] as const),
    ...Object.entries(FOLLOWED),
  ];
  const wrong = all.filter(
    ([page, test]) => test !== undefined && !(existsSync(test) && read(test).includes(page)),
  );
  t.same(wrong, []);
});

t.test('a block that was run by hand has not changed since then', async (t) => {
  const changed = blocks.flatMap((block) => {
    const [, digest] = BY_HAND.exec(block.mark) ?? [];
    const now = createHash('sha256').update(block.text).digest('hex').slice(0, 8);
    return digest === undefined || digest === now
      ? []
      : [`${nameOf(block)}: run it again, then write ${now} before it`];
  });
  t.same(changed, []);
});
