/**
 * Clients list and watch filtered namespaces, lose their connections and reconnect to another replica, while
 * namespaces and rights change and the replicas receive the changes late and in different orders. In the end
 * each client has exactly what its user may see, and no client repeats its list forever.
 */
import fc from 'fast-check';
import t from 'tap';
import { action, type Event, eventsOf, replica, see } from '../support/namespace-actions.ts';
import type { NamespacesSite, NamespacesWatch } from '../support/namespaces-site.ts';

/** A replica that receives the changes of each resource in order, but those of different resources in any. */
class Replica {
  readonly #turns: (() => void)[] = [];
  readonly site: NamespacesSite = replica((turn) => this.#turns.push(turn));
  readonly #seen = new Map<string, number>();

  learn(events: readonly Event[], resource: string): void {
    const ofResource = events.filter(({ object }) => object.resource === resource);
    const at = this.#seen.get(resource) ?? 0;
    const event = ofResource[at];
    if (event === undefined) return;
    this.#seen.set(resource, at + 1);
    see(this.site, event);
  }

  learnAll(events: readonly Event[]): void {
    for (const resource of RESOURCES) for (const _ of events) this.learn(events, resource);
    this.turn();
  }

  turn(): void {
    for (let turn = this.#turns.shift(); turn !== undefined; turn = this.#turns.shift()) turn();
  }
}

const RESOURCES = ['namespaces', 'rolebindings', 'clusterrolebindings'] as const;

/**
 * Like client-go's reflector: it watches from the last revision that it received, and lists again after 410.
 */
class Client {
  readonly store = new Map<string, string>();
  lists = 0;
  readonly #bookmarks: boolean;
  #revision: string | undefined;
  #watch: NamespacesWatch | undefined;
  #read = 0;

  constructor(bookmarks: boolean) {
    this.#bookmarks = bookmarks;
  }

  async connect({ site }: Replica): Promise<void> {
    if (this.#watch !== undefined) return;
    if (this.#revision === undefined) return this.#list(site);
    const query = `resourceVersion=${this.#revision}&allowWatchBookmarks=${this.#bookmarks}`;
    this.#watch = await site.watch('alice', query);
    this.#read = 0;
  }

  async #list(site: NamespacesSite): Promise<void> {
    const reply = await site.get('alice');
    const list: { items: { metadata: { name: string; resourceVersion: string } }[] } = JSON.parse(
      reply?.text ?? '',
    );
    this.store.clear();
    for (const { metadata } of list.items) this.store.set(metadata.name, metadata.resourceVersion);
    this.#revision = reply?.resourceVersion;
    this.lists += 1;
  }

  /** @param count how many events to read; events that are sent together may be read in part */
  read(count: number): void {
    for (const event of this.#watch?.events.slice(this.#read, this.#read + count) ?? []) {
      this.#read += 1;
      const { type, name, resourceVersion } = event;
      if (type === 'ERROR') {
        this.breaks();
        this.#revision = undefined;
        return;
      }
      if (type === 'DELETED') this.store.delete(name);
      else if (type !== 'BOOKMARK') this.store.set(name, resourceVersion);
      this.#revision = resourceVersion;
    }
  }

  breaks(): void {
    this.#watch?.close();
    this.#watch = undefined;
  }
}

const which = fc.nat(1);
const client = fc.nat(3);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('change' as const), action }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('learn' as const),
      which,
      resource: fc.constantFrom(...RESOURCES),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('turn' as const), which }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('connect' as const), which, client }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('read' as const), client, count: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('break' as const), client }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

async function run(steps: readonly Step[], replicas: readonly Replica[], clients: readonly Client[]) {
  const actions = steps.flatMap((one) => (one.do === 'change' ? [one.action] : []));
  const all = eventsOf(actions);
  let done = 0;
  for (const one of steps) {
    const place = replicas['which' in one ? one.which % replicas.length : 0];
    const who = clients['client' in one ? one.client % clients.length : 0];
    if (place === undefined || who === undefined) continue;
    if (one.do === 'change') done += 1;
    else if (one.do === 'learn') place.learn(all.slice(0, done), one.resource);
    else if (one.do === 'turn') place.turn();
    else if (one.do === 'connect') await who.connect(place);
    else if (one.do === 'read') who.read(one.count);
    else who.breaks();
  }
  for (const place of replicas) place.learnAll(all);
  const before = clients.map(({ lists }) => lists);
  for (let round = 0; round < 6; round += 1)
    for (const [at, who] of clients.entries()) {
      const place = replicas[(at + round) % replicas.length];
      if (place !== undefined) await who.connect(place);
      who.read(1_000);
      if (round === 2) who.breaks();
    }
  for (const who of clients) who.breaks();
  return clients.map(({ lists }, at) => lists - (before[at] ?? 0));
}

async function truth(place: Replica | undefined): Promise<string> {
  const reply = await place?.site.get('alice');
  const list: { items: { metadata: { name: string; resourceVersion: string } }[] } = JSON.parse(
    reply?.text ?? '',
  );
  return JSON.stringify(list.items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

const storeOf = ({ store }: Client) => JSON.stringify([...store].sort());

t.test(
  '7,200 clients of two replicas end with what their users may see, and do not list in a loop',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
        const replicas = [new Replica(), new Replica()];
        const clients = [true, true, true, false].map((bookmarks) => new Client(bookmarks));
        const late = await run(steps, replicas, clients);
        const expected = await truth(replicas[0]);
        return clients.every((who) => storeOf(who) === expected) && late.every((lists) => lists <= 3);
      }),
      { numRuns: 1_800 },
    );
    t.pass();
  },
);

t.test('with one replica, clients that read bookmarks together with events never list again', async (t) => {
  const whole = step.map((one) => (one.do === 'read' ? { ...one, count: 1_000 } : one));
  await fc.assert(
    fc.asyncProperty(fc.array(whole, { maxLength: 120 }), async (steps) => {
      const replicas = [new Replica()];
      const clients = [new Client(true), new Client(true)];
      await run(steps, replicas, clients);
      const expected = await truth(replicas[0]);
      return clients.every((who) => storeOf(who) === expected && who.lists === 1);
    }),
    { numRuns: 500 },
  );
  t.pass();
});
