/** Caddy on one processor of Go's. */
import { missing, startConfigured } from './configured.ts';
import type { Contender } from './contender.ts';

export const caddy: Contender = {
  name: 'caddy',
  ...missing('caddy', 'version'),
  async start({ site, upstream }) {
    const transport =
      upstream === 'tls'
        ? `\n    transport http {\n      tls_trusted_ca_certs ${site.caFile}\n      versions 1.1\n    }`
        : '';
    const serving = (port: number) => `{
  admin off
  auto_https off
  skip_install_trust
  log {
    output discard
  }
}
https://localhost:${port}, https://127.0.0.1:${port} {
  bind 127.0.0.1
  tls ${site.certFile} ${site.keyFile}
  reverse_proxy ${site.upstream[upstream]} {
    header_up Impersonate-User acme:alice${transport}
  }
}
`;
    const words = (file: string) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file];
    const environment = { GOMAXPROCS: '1', HOME: site.folder, XDG_DATA_HOME: site.folder };
    return startConfigured('Caddyfile', serving, words, site, environment);
  },
};
