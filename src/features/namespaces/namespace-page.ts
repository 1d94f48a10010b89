/**
 * The namespaces that a request selects among those that the user sees, and a page of them.
 */

import {
  type FieldSelector,
  fieldsMatch,
  parseFieldSelector,
} from '../../kubernetes/lists/field-selector.ts';
import {
  type LabelSelector,
  labelsMatch,
  parseLabelSelector,
} from '../../kubernetes/lists/label-selector.ts';
import type { ListOptions } from '../../kubernetes/lists/list-options.ts';
import type { StoredNamespace } from '../../kubernetes/rbac-v1.ts';
import { positionIn } from './visible-namespaces.ts';

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
}

export interface NamespacePage {
  readonly namespaces: readonly StoredNamespace[];
  /** Whether others follow. */
  readonly hasMore: boolean;
}

/**
 * @param after the name behind which the page begins; empty for the first page
 * @param limit 0: all at once
 */
export function selectPage(
  sorted: readonly StoredNamespace[],
  selection: NamespaceSelection,
  after: string,
  limit: number,
): NamespacePage {
  const namespaces: StoredNamespace[] = [];
  for (const namespace of sorted.slice(positionIn(sorted, after))) {
    if (namespace.name === after || !selection.matches(namespace)) continue;
    if (limit > 0 && namespaces.length === limit) return { namespaces, hasMore: true };
    namespaces.push(namespace);
  }
  return { namespaces, hasMore: false };
}
