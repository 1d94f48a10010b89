/**
 * Decisions for watches of namespaces are made in later turns if there are many: whatever a client was told
 * before, it misses nothing, and no bookmark is ahead of what it knows.
 */
import fc from 'fast-check';
import t from 'tap';
import { INDEXED_RESOURCES } from '../../src/api/rbac-v1.ts';
import { action, catchUp, eventsOf, replica, see } from '../support/namespace-actions.ts';
import type { NamespacesSite, NamespacesWatch } from '../support/namespaces-site.ts';

const step = fc.oneof(
  { weight: 6, arbitrary: fc.constant('change' as const) },
  { weight: 2, arbitrary: fc.constant('turn' as const) },
  { weight: 2, arbitrary: fc.constant('progress' as const) },
  { weight: 2, arbitrary: fc.constant('read' as const) },
  { weight: 1, arbitrary: fc.constant('break' as const) },
);

/** Like client-go's reflector: it watches on from the last revision that it has, and lists after 410. */
class Client {
  readonly names = new Set<string>();
  expired = 0;
  readonly #site: NamespacesSite;
  readonly #bookmarks: boolean;
  #revision = '';
  #watch: NamespacesWatch | undefined;
  #seen = 0;

  constructor(site: NamespacesSite, bookmarks: boolean) {
    this.#site = site;
    this.#bookmarks = bookmarks;
  }

  async list(): Promise<void> {
    const list = await this.#site.get('alice');
    this.names.clear();
    for (const name of list?.names ?? []) this.names.add(name);
    this.#revision = list?.resourceVersion ?? '';
    await this.watchOn();
  }

  async watchOn(): Promise<void> {
    this.#watch?.close();
    this.#seen = 0;
    this.#watch = await this.#site.watch(
      'alice',
      `resourceVersion=${this.#revision}${this.#bookmarks ? '&allowWatchBookmarks=true' : ''}`,
    );
  }

  async read(): Promise<void> {
    await this.#watch?.read();
    const events = this.#watch?.events.slice(this.#seen) ?? [];
    this.#seen += events.length;
    for (const { type, name, resourceVersion } of events) {
      if (type === 'ERROR') {
        this.expired += 1;
        await this.list();
        return;
      }
      if (type === 'DELETED') this.names.delete(name);
      else if (name !== '') this.names.add(name);
      this.#revision = resourceVersion;
    }
  }
}

/** As a bookmark of each resource. */
function progress({ index }: NamespacesSite, revision: number): void {
  for (const resource of INDEXED_RESOURCES) index.progress(resource, revision);
}

t.test('a client that resumes whenever its watch breaks has what the user sees', async (t) => {
  let late = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { maxLength: 40 }),
      fc.array(step, { minLength: 20, maxLength: 80 }),
      fc.boolean(),
      async (actions, steps, bookmarks) => {
        const turns: (() => void)[] = [];
        const site = replica((turn) => turns.push(turn));
        const client = new Client(site, bookmarks);
        const events = eventsOf(actions);
        let seen = 0;
        await client.list();
        for (const one of steps)
          if (one === 'turn') turns.shift()?.();
          else if (one === 'read') await client.read();
          else if (one === 'break') {
            if (turns.length > 0) late += 1;
            await client.watchOn();
          } else if (one === 'progress') progress(site, seen);
          else {
            const event = events.shift();
            if (event === undefined) continue;
            see(site, event);
            seen = event.object.revision;
          }
        while (turns.length > 0) turns.shift()?.();
        catchUp(site);
        // After 410 the client lists, and reads the events of another watch.
        await client.read();
        await client.read();
        const now = await site.get('alice');
        return [...client.names].sort().join() === now?.names.join();
      },
    ),
    { numRuns: 500 },
  );
  t.ok(late > 30, `${late} watches broke while decisions were due`);
});
