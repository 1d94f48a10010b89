/**
 * Both kinds of process listen with these: the content of TLS files, and the settings of the admission
 * webhook's listener.
 */
import type { LoadedConfiguration } from '../config/load.ts';
import type { ListenerOptions } from '../server/listener.ts';
import type { TLSMaterial } from '../server/tls-material.ts';

/** Settings of the webhook's listener, whose clients are API servers; timeouts in milliseconds. */
export const ADMISSION_LISTENER: Pick<ListenerOptions, 'http2' | 'timeouts' | 'limits'> = {
  http2: true,
  timeouts: { header: 10_000, idle: 120_000, stall: 30_000 },
  limits: { headerBytes: 16_384 },
};

interface TLSFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCAFile?: string | undefined;
}

/** The content of the files. With `clientCAFile`, only clients with a certificate of that CA may connect. */
export function tlsMaterial(
  { certFile, keyFile, clientCAFile }: TLSFiles,
  file: LoadedConfiguration['file'],
): TLSMaterial {
  const own = { cert: file(certFile), key: file(keyFile) };
  return clientCAFile === undefined ? own : { ...own, clientCA: file(clientCAFile) };
}
