/**
 * http-proxy as its documentation shows it, with keep-alive connections to the upstream: the baseline in
 * Node.
 */
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { createServer, Agent as TLSAgent } from 'node:https';
import process from 'node:process';
import httpProxy from 'http-proxy';
import { announce } from './announce.ts';

const [upstream = '', certFile = '', keyFile = '', caFile = ''] = process.argv.slice(2);
const secure = upstream.startsWith('https:');
const proxy = httpProxy.createProxyServer({
  target: upstream,
  agent: secure
    ? new TLSAgent({ keepAlive: true, ca: readFileSync(caFile) })
    : new Agent({ keepAlive: true }),
});
proxy.on('error', (_error, _request, response) => response.destroy());
const server = createServer(
  { cert: readFileSync(certFile), key: readFileSync(keyFile), maxHeaderSize: 64 * 1024 },
  (request, response) => proxy.web(request, response),
);
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => announce(server));
