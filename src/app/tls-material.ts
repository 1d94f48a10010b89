/**
 * Reads the content of TLS files.
 */
import type { Material } from '../features/define-feature.ts';
import type { TLSMaterial } from '../server/tls-material.ts';

interface TLSFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCAFile?: string | undefined;
}

/** The content of the files. With `clientCAFile`, only clients with a certificate of that CA may connect. */
export function tlsMaterial(
  { certFile, keyFile, clientCAFile }: TLSFiles,
  file: Material['file'],
): TLSMaterial {
  const own = { cert: file(certFile), key: file(keyFile) };
  return clientCAFile === undefined ? own : { ...own, clientCA: file(clientCAFile) };
}
