/** Discovery of a small cluster, by path: the core group, `apps`, and a custom group in two versions. */
import documents from './core-discovery.json' with { type: 'json' };

export const DISCOVERY: Readonly<Record<string, object>> = documents;
