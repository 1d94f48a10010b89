/**
 * Filtered lists of namespaces after any changes: all pages together are the whole list, and a client can
 * watch from the revision of its list. Selectors of clients are evaluated as Kubernetes does.
 */
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { labelsMatch, parseLabelSelector } from '../../src/kubernetes/lists/label-selector.ts';
import { action, eventsOf, replica, see } from '../support/namespace-actions.ts';
import type { NamespacesWatch } from '../support/namespaces-site.ts';

/** The names that a client has after the events of its watch. */
async function applied(held: ReadonlySet<string>, watch: NamespacesWatch): Promise<Set<string>> {
  await watch.read();
  const names = new Set(held);
  for (const { type, name } of watch.events)
    if (type === 'DELETED') names.delete(name);
    else if (name !== '') names.add(name);
  return names;
}

const QUERIES = fc.constantFrom('', 'labelSelector=env%3Dprod', 'fieldSelector=metadata.name!%3Da');

t.test('all pages together are the whole list', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { maxLength: 20 }),
      fc.integer({ min: 1, max: 3 }),
      QUERIES,
      async (actions, limit, query) => {
        const site = replica();
        for (const event of eventsOf(actions)) see(site, event);
        const whole = await site.get('alice', query);
        const pages: string[] = [];
        let more = '';
        do {
          const page = await site.get(
            'alice',
            `${query}&limit=${limit}${more === '' ? '' : `&continue=${more}`}`,
          );
          if (more !== '' && page?.names.length === 0) return false;
          pages.push(...(page?.names ?? []));
          more = page?.continue ?? '';
        } while (more !== '');
        return pages.join() === whole?.names.join();
      },
    ),
    { numRuns: 100 },
  );
  t.pass();
});

t.test('a client can always watch from the revision of the list that it has just received', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 30 }), QUERIES, async (actions, query) => {
      const site = replica();
      for (const event of eventsOf(actions)) see(site, event);
      const list = await site.get('alice', query);
      const watch = await site.watch(
        'alice',
        `${query}&resourceVersion=${list?.resourceVersion}&allowWatchBookmarks=true`,
      );
      const held = await applied(new Set(list?.names), watch);
      const isExpired = watch.events.some(({ type }) => type === 'ERROR');
      watch.close();
      return !isExpired && [...held].sort().join() === list?.names.join();
    }),
    { numRuns: 300 },
  );
  t.pass();
});

t.test('any text is parsed as a selector or refused with a 400', async (t) => {
  const characters = fc.constantFrom(...'ab=!(),<> in notin 0-./'.split(''));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(characters).map((list) => list.join('')),
      ),
      (text) => {
        try {
          return parseLabelSelector(text).length >= 0;
        } catch (error) {
          return error instanceof StatusError && error.http === 400;
        }
      },
    ),
    { numRuns: 2_000 },
  );
  t.pass();
});

t.test('each operator of a selector matches the labels that it describes', async (t) => {
  const value = fc.constantFrom('', 'a', 'b', '1', '2');
  const labels = fc.dictionary(fc.constantFrom('x', 'y'), value);
  const values = fc.uniqueArray(fc.constantFrom('a', 'b', '1'), { minLength: 1 });
  fc.assert(
    fc.property(labels, fc.constantFrom('x', 'y'), values, (of, key, chosen) => {
      const [first = ''] = chosen;
      const has = Object.hasOwn(of, key);
      const is = has && chosen.some((one) => one === of[key]);
      const matches = (text: string) => labelsMatch(parseLabelSelector(text), of);
      return (
        matches(`${key} in (${chosen.join(',')})`) === is &&
        matches(`${key} notin (${chosen.join(',')})`) === !is &&
        matches(`${key}=${first}`) === (has && of[key] === first) &&
        matches(`${key}!=${first}`) === !(has && of[key] === first) &&
        matches(key) === has &&
        matches(`!${key}`) === !has &&
        matches(`${key}>1`) === (of[key] === '2') &&
        matches(`${key}<2`) === (of[key] === '1')
      );
    }),
  );
  t.pass();
});
