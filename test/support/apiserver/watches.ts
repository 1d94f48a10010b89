/**
 * Watches: the existing objects or the changes since a revision, then every change as it happens, one JSON
 * event per line, as objects or as table rows.
 */
import type { ServerResponse } from 'node:http';
import { PROTOBUF_TYPE } from '../../../src/kubernetes/meta-v1.ts';
import { type JsonObject, objectAt, textAt } from './json.ts';
import type { Flavour } from './kinds.ts';
import { encodeProtobufEvent } from './protobuf-answers.ts';
import { type Change, matches, type ObjectStore, type Selection } from './store.ts';

export interface WatchOptions {
  readonly flavour: Flavour;
  readonly kind: string;
  /** Whether events are sent as protobuf, each preceded by its length. */
  readonly protobuf: boolean;
  readonly store: ObjectStore;
  readonly selection: Selection;
  /** Whether labels and fields select an object. */
  readonly selects: (object: JsonObject) => boolean;
  /**
   * An object as it is sent; `first` is true for the first event, the only one that has a table's columns.
   */
  readonly present: (object: JsonObject, first: boolean) => JsonObject;
  readonly query: URLSearchParams;
  /** Ends the watch cleanly. */
  readonly signal: AbortSignal;
}

/** Milliseconds between two bookmarks; kube-apiserver sends one a minute. */
const BOOKMARK_INTERVAL = 200;

/** As recorded in `test/conformance/arktos/recorded-all-tenants/all-watch-too-old.json`. */
function tooOld(revision: number, oldest: number): JsonObject {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `too old resource version: ${revision} (${oldest})`,
    reason: 'Expired',
    code: 410,
  };
}

/** Sends the events; ends after `timeoutSeconds`, when the client disconnects, or on the signal. */
export function serveWatch(response: ServerResponse, options: WatchOptions) {
  const { store, selection, selects, query, signal, protobuf, flavour } = options;
  response.writeHead(200, {
    'Content-Type': protobuf ? `${PROTOBUF_TYPE};stream=watch` : 'application/json',
  });
  response.flushHeaders();
  let first = true;
  const send = (type: string, object: JsonObject) => {
    const presented = options.present(object, first);
    response.write(
      protobuf ? encodeProtobufEvent(type, presented) : `${JSON.stringify({ type, object: presented })}\n`,
    );
    first = false;
  };
  const onChange = (change: Change) => {
    if (!matches(change.location, selection)) return;
    const wasSelected = change.before !== undefined && selects(change.before);
    const isSelected = change.type !== 'DELETED' && selects(change.object);
    if (isSelected) send(wasSelected ? 'MODIFIED' : 'ADDED', change.object);
    else if (wasSelected) send('DELETED', change.object);
  };
  const revision = Number(query.get('resourceVersion') ?? '0');
  if (revision !== 0 && revision < store.compacted) {
    response.end(`${JSON.stringify({ type: 'ERROR', object: tooOld(revision, store.compacted) })}\n`);
    return;
  }
  if (revision === 0) {
    for (const { object } of store.list(selection)) if (selects(object)) send('ADDED', object);
  } else store.changesSince(revision).forEach(onChange);
  const leaked = isIndexTriggered(options) ? lastChanged(store, selection, revision) : undefined;
  if (leaked !== undefined) send('BOOKMARK', leaked);

  const unsubscribe = store.onChange(onChange);
  // Arktos accepts the parameter but sends no bookmarks.
  const sendsBookmarks = flavour === 'kubernetes' && query.get('allowWatchBookmarks') === 'true';
  const bookmarks = sendsBookmarks ? setInterval(bookmark, BOOKMARK_INTERVAL) : undefined;
  function bookmark() {
    const resourceVersion = String(store.revision);
    send('BOOKMARK', { kind: options.kind, metadata: { resourceVersion, creationTimestamp: null } });
  }
  const end = () => {
    unsubscribe();
    clearInterval(bookmarks);
    response.end();
  };
  const seconds = Number(query.get('timeoutSeconds') ?? '0');
  const timer = seconds > 0 ? setTimeout(end, seconds * 1000) : undefined;
  signal.addEventListener('abort', end);
  response.once('close', () => {
    clearTimeout(timer);
    clearInterval(bookmarks);
    unsubscribe();
    signal.removeEventListener('abort', end);
  });
}

/**
 * Whether Arktos' cache has an index for such a watch: it then sends one bookmark after the initial events,
 * which contains the whole object that changed last, of any tenant.
 * recorded/secret-watch-leaks-other-tenants-secret.json.
 */
function isIndexTriggered({ flavour, selection, query }: WatchOptions) {
  if (flavour !== 'arktos' || selection.group !== '') return false;
  const fields = query.get('fieldSelector') ?? '';
  switch (selection.resource) {
    case 'secrets':
    case 'nodes':
      return selection.name !== undefined || /(^|,)metadata\.name=/.test(fields);
    case 'pods':
      return /(^|,)spec\.nodeName=/.test(fields);
    default:
      return false;
  }
}

/** The object of any tenant that changed last. */
function lastChanged(
  store: ObjectStore,
  { group, resource }: Selection,
  revision: number,
): JsonObject | undefined {
  return store
    .changesSince(revision)
    .findLast(({ location }) => location.group === group && location.resource === resource)?.object;
}

/**
 * @returns whether an object has the labels and fields that a query selects; supports equality, sets and
 * existence
 */
export function selectorOf(query: URLSearchParams): (object: JsonObject) => boolean {
  const terms = splitTerms(query.get('labelSelector') ?? '').map(labelTerm);
  const fields = splitTerms(query.get('fieldSelector') ?? '').map(fieldTerm);
  return (object) => {
    const labels = objectAt(objectAt(object, 'metadata'), 'labels');
    return terms.every((term) => term(labels)) && fields.every((field) => field(object));
  };
}

const splitTerms = (selector: string) => selector.split(/,(?![^(]*\))/).filter((term) => term !== '');

function labelTerm(term: string): (labels: JsonObject) => boolean {
  const set = /^\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*$/.exec(term);
  if (set) {
    const values = (set[3] ?? '').split(',').map((value) => value.trim());
    return (labels) => values.includes(textAt(labels, set[1] ?? '')) === (set[2] === 'in');
  }
  const [, key = '', operator, value = ''] = /^([^=!]+)(!=|==?)(.*)$/.exec(term) ?? [];
  if (operator !== undefined) return (labels) => (textAt(labels, key) === value) === (operator !== '!=');
  return term.startsWith('!') ? (labels) => !(term.slice(1) in labels) : (labels) => term in labels;
}

function fieldTerm(term: string): (object: JsonObject) => boolean {
  const [, path = '', operator = '=', value = ''] = /^([^=!]+)(!=|==?)(.*)$/.exec(term) ?? [];
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  return (object) => {
    const parent = steps.reduce(objectAt, object);
    return (textAt(parent, last) === value) === (operator !== '!=');
  };
}
