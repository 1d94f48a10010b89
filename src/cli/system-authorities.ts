/**
 * Commands trust the authorities of the system beside Node's own, as kubectl does. They are read with
 * the first connection, because a cached token needs none.
 */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

let isDone = false;

/** Applies to all connections of this process that have no `ca` of their own. */
export function trustSystemAuthorities(): void {
  if (isDone) return;
  isDone = true;
  setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')]);
}
