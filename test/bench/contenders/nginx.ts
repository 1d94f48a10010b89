/** nginx in one process. */
import { join } from 'node:path';
import { missing, startConfigured } from './configured.ts';
import type { Contender } from './contender.ts';

export const nginx: Contender = {
  name: 'nginx',
  ...missing('nginx', '-v'),
  async start({ site, upstream, http2 = false }) {
    const { host } = new URL(site.upstream[upstream]);
    const scheme = upstream === 'tls' ? 'https' : 'http';
    const serving = (port: number) => `daemon off;
master_process off;
worker_processes 1;
pid ${join(site.folder, 'nginx.pid')};
error_log stderr crit;
events { worker_connections 16384; }
http {
  access_log off;
  keepalive_requests 1000000;
  client_max_body_size 100m;
  client_body_temp_path ${site.folder};
  proxy_temp_path ${site.folder};
  large_client_header_buffers 8 64k;
  upstream apiserver { server ${host}; keepalive 256; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port} ssl${http2 ? ' http2' : ''} backlog=4096;
    ssl_certificate ${site.certFile};
    ssl_certificate_key ${site.keyFile};
    location / {
      proxy_pass ${scheme}://apiserver;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Impersonate-User acme:alice;
      proxy_ssl_trusted_certificate ${site.caFile};
      proxy_ssl_verify on;
      proxy_ssl_name localhost;
      proxy_buffering off;
    }
  }
}
`;
    return startConfigured('nginx.conf', serving, (file) => ['nginx', '-c', file], site);
  },
};
