/**
 * A client that keeps a store as client-go's reflector does: it lists, watches from the list's revision with
 * bookmarks, goes on from the last revision that it received, and lists again after 410. After whatever else
 * goes wrong it repeats after a fixed pause.
 */
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { HttpsClient } from '../https-client.ts';

interface ListedObject {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly resourceVersion: string;
  };
  readonly code?: number;
}

export interface ReflectorOptions {
  readonly client: Pick<HttpsClient, 'ask' | 'open'>;
  readonly token: string;
  /** With its query; the list's. */
  readonly path: string;
  /** Called with the names of each list. */
  readonly onListed: (names: ReadonlySet<string>) => void;
}

const PAUSE = 200;

export function runReflector({ client, token, path, onListed }: ReflectorOptions) {
  let store = new Set<string>();
  let revision: string | undefined;
  let watching: IncomingMessage | undefined;
  let isStopped = false;

  async function list() {
    const { status, body } = await client.ask(token, path);
    if (status !== 200) return;
    const listed: { items: readonly ListedObject[]; metadata: { resourceVersion: string } } =
      JSON.parse(body);
    store = new Set(listed.items.map(nameOf));
    revision = listed.metadata.resourceVersion;
    onListed(store);
  }

  async function watch(from: string) {
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${from}`;
    const response = await client.open(token, `${path}&${query}`);
    if (response.statusCode !== 200) {
      response.destroy();
      return;
    }
    watching = response;
    let rest = '';
    for await (const piece of response) {
      const lines = `${rest}${piece}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) take(JSON.parse(line));
    }
  }

  function take({ type, object }: { readonly type: string; readonly object: ListedObject }) {
    if (type === 'ADDED' || type === 'MODIFIED') store.add(nameOf(object));
    if (type === 'DELETED') store.delete(nameOf(object));
    revision = type === 'ERROR' ? undefined : object.metadata.resourceVersion;
  }

  async function run() {
    while (!isStopped) {
      const isList = revision === undefined;
      try {
        await (revision === undefined ? list() : watch(revision));
      } catch (error) {
        // A connection that is lost, with a code.
        if (!(error instanceof Error && 'code' in error)) throw error;
      }
      watching = undefined;
      const isListed = isList && revision !== undefined;
      if (!isListed && !isStopped) await pause(PAUSE);
    }
  }

  const running = run();
  return {
    /** `namespace/name` of each object. */
    get store() {
      return store;
    },
    /** Whether its watch is open. */
    get isWatching() {
      return watching !== undefined;
    },
    async stop() {
      isStopped = true;
      watching?.destroy();
      await running;
    },
  };
}

function nameOf({ metadata: { namespace, name } }: ListedObject) {
  return `${namespace}/${name}`;
}
