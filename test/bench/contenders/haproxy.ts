/** HAProxy with one thread. */
import { join } from 'node:path';
import { missing, startConfigured } from './configured.ts';
import type { Contender } from './contender.ts';

export const haproxy: Contender = {
  name: 'haproxy',
  ...missing('haproxy', '-v'),
  async start({ site, upstream, http2 = false }) {
    const { host } = new URL(site.upstream[upstream]);
    const tls = upstream === 'tls' ? `ssl verify required ca-file ${site.caFile} alpn http/1.1` : '';
    const serving = (port: number) => `global
  nbthread 1
  maxconn 8000
  tune.bufsize 65536
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend clients
  bind 127.0.0.1:${port} ssl crt ${join(site.folder, 'tls.pem')} alpn ${http2 ? 'h2,http/1.1' : 'http/1.1'}
  default_backend apiserver
backend apiserver
  http-request set-header Impersonate-User acme:alice
  server one ${host} ${tls}
`;
    return startConfigured('haproxy.cfg', serving, (file) => ['haproxy', '-db', '-f', file], site);
  },
};
