/**
 * `host:port` as Kubernetes' own `--bind-address` flags and Go's `net.Listen` write it.
 * https://pkg.go.dev/net#Listen
 */

export interface BindAddress {
  /** Undefined: every address of the machine. */
  readonly host: string | undefined;
  readonly port: number;
}

const BIND = /^(?:\[([0-9a-fA-F:.]+)\]|([^[\]:\s]*)):(\d{1,5})$/;

/**
 * @param bind `0.0.0.0:8443`, `[::]:8443`, `:8443`; port 0 lets the system choose
 * @throws Error where the text is no such thing
 */
export function parseBindAddress(bind: string): BindAddress {
  const [, ipv6, name, port] = BIND.exec(bind) ?? [];
  if (port === undefined || Number(port) > 65_535)
    throw new Error(`${JSON.stringify(bind)} is no host:port to listen on`);
  return { host: ipv6 ?? (name === '' ? undefined : name), port: Number(port) };
}
