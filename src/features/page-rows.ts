/**
 * The rows of a page's lists. There are at most 200 of them, so that a page is short however much its user
 * may see; a filter by name finds the others.
 */
import { type Html, html } from '../lib/html.ts';
import type { Visit } from '../proxy/portal-page.ts';
import { button, hidden, MAX_ROWS, NOTHING_ENTERED, textField } from './page-parts.ts';

export interface Rows {
  /**
   * @param textOf what the filter is looked for in, in any case
   * @returns those of the list's rows that the page shows
   */
  take<T>(all: readonly T[], textOf: (row: T) => string): readonly T[];
  /** Says how many rows there was no room for; undefined if none. */
  readonly hint: string | undefined;
}

export function rowsOf({ filter }: Pick<Visit, 'filter'>): Rows {
  const wanted = filter.toLowerCase();
  let room = MAX_ROWS;
  let more = 0;
  return {
    take(all, textOf) {
      const found = wanted === '' ? all : all.filter((row) => textOf(row).toLowerCase().includes(wanted));
      const shown = found.slice(0, room);
      room -= shown.length;
      more += found.length - shown.length;
      return shown;
    },
    get hint() {
      return more === 0
        ? undefined
        : `This page shows ${MAX_ROWS} rows, and ${more} more are left out: enter a part of the name.`;
    },
  };
}

/**
 * A form that asks for a part of the names.
 *
 * @param hint why; without one and without a filter there is no form
 * @param namespace of a page that has one
 */
export function filterForm(
  { path, filter }: Pick<Visit, 'path' | 'filter'>,
  hint: string | undefined,
  namespace = '',
): Html | false {
  if (filter === '' && hint === undefined) return false;
  return html`<form class="card" method="get" action="${path}">
${namespace !== '' && hidden('namespace', namespace)}
<div class="row">${textField(NOTHING_ENTERED, { name: 'name', label: 'Filter by name', value: filter }, '-filter')}${button('Filter', undefined, 'quiet')}</div>
<p class="also" role="status">${hint ?? 'This page shows only what has this in its name.'}</p>
</form>`;
}
