/**
 * A page of the namespaces that a user sees, selected and in the order of their names. A token that continues
 * the list says after which name, and to which access of the user it belongs.
 */
import type { StoredNamespace } from '../../api/rbac-v1.ts';
import { StatusError } from '../../errors/status-error.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import { type ContinueScope, invalidContinue, openContinue, sealContinue } from '../lists/continue-token.ts';
import { type FieldSelector, fieldsMatch, parseFieldSelector } from '../lists/field-selector.ts';
import { type LabelSelector, labelsMatch, parseLabelSelector } from '../lists/label-selector.ts';
import type { ListOptions } from '../lists/list-options.ts';
import type { TokenSealer } from '../ports.ts';
import type { VisibleNamespaces } from './visible-namespaces.ts';

/** What a request selects. */
export class NamespaceSelection {
  readonly #labels: LabelSelector;
  readonly #fields: FieldSelector;
  /** Empty for all: of a watch of one namespace by its path. */
  readonly #name: string;

  /** @throws StatusError RequestMalformed */
  constructor(options: Pick<ListOptions, 'labelSelector' | 'fieldSelector'>, name: string) {
    this.#labels = parseLabelSelector(options.labelSelector);
    this.#fields = parseFieldSelector(options.fieldSelector);
    this.#name = name;
  }

  matches({ name, labels, phase }: Pick<StoredNamespace, 'name' | 'labels' | 'phase'>): boolean {
    if (this.#name !== '' && name !== this.#name) return false;
    if (this.#labels.length > 0 && !labelsMatch(this.#labels, labels)) return false;
    return (
      this.#fields.length === 0 || fieldsMatch(this.#fields, { 'metadata.name': name, 'status.phase': phase })
    );
  }

  /** Whether a namespace of that name may be selected, whatever else it has. */
  mayMatch(name: string): boolean {
    const isSelected = ({ field, value, negated }: FieldSelector[number]) =>
      field !== 'metadata.name' || (value === name) !== negated;
    return (this.#name === '' || name === this.#name) && this.#fields.every(isSelected);
  }
}

export interface NamespacePage {
  readonly namespaces: readonly StoredNamespace[];
  /** Whether others follow. */
  readonly hasMore: boolean;
}

/** Whether a user is to be shown a namespace after all. */
export type Confirm = (names: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * @param after the name behind which the page begins; empty for the first page
 * @param limit 0: all at once
 */
export function selectPage(
  view: VisibleNamespaces,
  selection: NamespaceSelection,
  after: string,
  limit: number,
): NamespacePage {
  const namespaces: StoredNamespace[] = [];
  const { sorted } = view;
  for (let at = firstAfter(sorted, after); at < sorted.length; at += 1) {
    const namespace = sorted[at];
    if (namespace === undefined || !selection.matches(namespace)) continue;
    if (limit > 0 && namespaces.length === limit) return { namespaces, hasMore: true };
    namespaces.push(namespace);
  }
  return { namespaces, hasMore: false };
}

/** Names that are asked for together. */
const BATCH = 64;

/** The same, of those that are confirmed. */
export async function selectConfirmedPage(
  view: VisibleNamespaces,
  selection: NamespaceSelection,
  after: string,
  limit: number,
  confirm: Confirm,
): Promise<NamespacePage> {
  const namespaces: StoredNamespace[] = [];
  let last = after;
  for (;;) {
    const batch = selectPage(view, selection, last, BATCH);
    const confirmed = await confirm(batch.namespaces.map(({ name }) => name));
    for (const { name } of batch.namespaces) {
      last = name;
      // The index may have learned of a change in the meantime.
      const namespace = confirmed.has(name) ? view.get(name) : undefined;
      if (namespace === undefined) continue;
      if (limit > 0 && namespaces.length === limit) return { namespaces, hasMore: true };
      namespaces.push(namespace);
    }
    if (!batch.hasMore) return { namespaces, hasMore: false };
  }
}

/** The position of the first one whose name is behind `after`. */
function firstAfter(sorted: readonly StoredNamespace[], after: string): number {
  let from = 0;
  let to = after === '' ? 0 : sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sorted[middle]?.name ?? '') <= after) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Where a continued list goes on. */
export interface NamespacePosition {
  /** Behind this name. */
  readonly after: string;
  /** Of the first page; all pages have it. */
  readonly revision: number;
}

/** What seals the positions of lists. */
export interface PositionSealer {
  readonly sealer: TokenSealer;
  /** Of this process: the numbers of users' access in others mean nothing here. */
  readonly instance: string;
}

export function sealPosition(
  { sealer, instance }: PositionSealer,
  scope: ContinueScope,
  { generation, digest }: Pick<VisibleNamespaces, 'generation' | 'digest'>,
  position: NamespacePosition,
): string {
  return sealContinue(sealer, scope, { ...position, access: `${instance}/${generation}`, digest });
}

/**
 * @throws StatusError RequestMalformed; ResourceExpired if the user's access has changed, or if another
 *   replica made the first page and the user sees other namespaces here
 */
export function openPosition(
  { sealer, instance }: PositionSealer,
  scope: ContinueScope,
  view: VisibleNamespaces,
  token: string,
): NamespacePosition {
  const payload = openContinue(sealer, scope, token);
  if (!isJSONObject(payload)) throw invalidContinue();
  const { after, revision, access, digest } = payload;
  if (typeof after !== 'string' || typeof revision !== 'number') throw invalidContinue();
  if (access !== `${instance}/${view.generation}` && digest !== view.digest) throw expiredContinue();
  return { after, revision };
}

/** In the API server's words. */
function expiredContinue(): StatusError {
  return new StatusError(
    'ResourceExpired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
  );
}
