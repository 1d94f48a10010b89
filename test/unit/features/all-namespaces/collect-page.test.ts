/** Pages of a list that is collected from the lists of single namespaces. */
import fc from 'fast-check';
import t from 'tap';
import {
  CONCURRENT_PARTS,
  collectPage,
  type MergedPage,
  type MergedPosition,
  type PartRequest,
  type PartResult,
} from '../../../../src/features/all-namespaces/collect-page.ts';
import { mergeParts, readListPart } from '../../../../src/features/all-namespaces/list-part.ts';
import { type Contents, listBody, objectNames } from '../../../support/namespaced-lists.ts';

const names = fc.uniqueArray(fc.stringMatching(/^[a-c]{1,3}$/), { maxLength: 12 });

function namesIn({ parts }: MergedPage): string[] {
  const [first, ...others] = parts;
  return first === undefined ? [] : objectNames(mergeParts([first, ...others], { resourceVersion: '1' }));
}

async function allPages(
  contents: Contents,
  limit: number | undefined,
  request: (part: PartRequest) => Promise<PartResult>,
): Promise<MergedPage[]> {
  const namespaces = [...contents.keys()].sort();
  const pages: MergedPage[] = [];
  let from: MergedPosition | undefined;
  do {
    const page = await collectPage({ namespaces, limit, from, listsAtRevision: true }, request);
    if (page === 'expired') throw new Error('expired');
    pages.push(page);
    from = page.next;
  } while (from !== undefined);
  return pages;
}

t.test(
  'D022 pages of any size hold every object exactly once, in the order of namespaces and objects',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,4}$/), names), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 20 }),
        async (entries, limit) => {
          const contents = new Map(entries);
          const request = async (part: PartRequest) => readListPart(listBody(contents, part, '7'));
          const whole = await allPages(contents, undefined, request);
          const pages = await allPages(contents, limit, request);
          const expected = [...contents.keys()]
            .sort()
            .flatMap((namespace) => (contents.get(namespace) ?? []).map((name) => `${namespace}/${name}`));
          t.same(whole.flatMap(namesIn), expected);
          t.same(pages.flatMap(namesIn), expected);
          t.equal(whole.length, 1);
          for (const page of pages.slice(0, -1))
            t.equal(namesIn(page).length, limit, 'all but the last are full');
        },
      ),
      { numRuns: 60 },
    );
  },
);

t.test('the first namespace chooses the revision, and all others are listed at it', async (t) => {
  const contents = new Map([...'abcdef'].map((name) => [name, ['x']] as const));
  const asked: PartRequest[] = [];
  const pages = await allPages(contents, 3, async (part) => {
    asked.push(part);
    return readListPart(listBody(contents, part, part.revision ?? '41'));
  });
  t.same([...new Set(asked.slice(1).map(({ revision }) => revision))], ['41']);
  t.equal(asked[0]?.revision, undefined);
  t.same(
    pages.map(({ revision }) => revision),
    ['41', '41'],
  );
});

t.test(
  'if the API server cannot list at an exact revision, the list has the lowest revision of its parts',
  async (t) => {
    const contents = new Map([...'abc'].map((name) => [name, ['x']] as const));
    const revisions: Record<string, string> = { a: '100', b: '99', c: '1000' };
    const options = { namespaces: [...'abc'], limit: undefined, from: undefined, listsAtRevision: false };
    const asked: (string | undefined)[] = [];
    const page = await collectPage(options, async (part) => {
      asked.push(part.revision);
      return readListPart(listBody(contents, part, revisions[part.namespace] ?? ''));
    });
    t.match(page, { revision: '99' });
    t.same(asked, [undefined, undefined, undefined]);
  },
);

t.test('at most eight requests run at a time, and only one if it fills the page', async (t) => {
  const places = Array.from({ length: 40 }, (_, at) => `ns-${String(at).padStart(2, '0')}`);
  const contents = new Map(places.map((place) => [place, ['x', 'y']]));
  let open = 0;
  let most = 0;
  let count = 0;
  const request = async (part: PartRequest) => {
    count += 1;
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setImmediate(resolve));
    open -= 1;
    return readListPart(listBody(contents, part, '7'));
  };
  await allPages(contents, undefined, request);
  t.equal(most, CONCURRENT_PARTS);
  t.equal(count, 40);
  most = 0;
  await allPages(contents, 1, request);
  t.equal(most, 1);
});

t.test('a page that begins in a namespace deleted in the meantime continues with the next one', async (t) => {
  const contents = new Map([...'ac'].map((name) => [name, ['x']] as const));
  const asked: PartRequest[] = [];
  const from = { namespace: 'b', more: 'token', revision: '7' };
  const page = await collectPage(
    { namespaces: ['a', 'c'], limit: 5, from, listsAtRevision: true },
    async (part) => {
      asked.push(part);
      return readListPart(listBody(contents, part, '7'));
    },
  );
  t.same(asked, [{ namespace: 'c', limit: 5, revision: '7', more: undefined }]);
  t.ok(page !== 'expired' && page.next === undefined);
});

t.test('an API server that ignores the limit causes longer pages, not an endless list', async (t) => {
  const contents = new Map([...'ab'].map((name) => [name, ['x', 'y', 'z']] as const));
  const pages = await allPages(contents, 2, async (part) =>
    readListPart(listBody(contents, { ...part, limit: undefined }, '7')),
  );
  t.same(
    pages.map((page) => namesIn(page).length),
    [3, 3],
  );
});
