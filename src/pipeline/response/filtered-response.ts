/**
 * Marks a response that holds less than the API server has: the objects that the user's rights cover. Clients
 * see a header, the audit log has an annotation.
 */
import type { HeaderField, HeaderList } from '../../lib/header-list.ts';

const FILTERED_HEADER: HeaderField = ['Stonegate-Filtered', 'rbac'];

interface Marked {
  readonly headers: HeaderList;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The response with the header and the annotation. */
export function asFiltered<R extends Marked>(response: R): R {
  return {
    ...response,
    headers: [...response.headers, FILTERED_HEADER],
    annotations: { ...response.annotations, 'stonegate.dev/filtered': 'rbac' },
  };
}
