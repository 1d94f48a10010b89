/**
 * What a feature says of a listener of its own.
 */

/** Timeouts in milliseconds. */
export interface ListenerSettings {
  /** `host:port`. */
  readonly bind: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string; readonly clientCAFile?: string };
  /** By default as the API's listener. */
  readonly http2?: boolean;
  readonly timeouts?: { readonly header: number; readonly idle: number; readonly stall: number };
  readonly limits?: { readonly headerBytes: number };
}

/** Settings of the admission webhook's listener, whose clients are API servers. */
export const ADMISSION_LISTENER = {
  http2: true,
  timeouts: { header: 10_000, idle: 120_000, stall: 30_000 },
  limits: { headerBytes: 16_384 },
};
