/**
 * A reverse proxy of one of the packages that are most often used for it, with persistent connections. It
 * decides nothing.
 */
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { createServer } from 'node:https';
import process from 'node:process';
import httpProxy from 'http-proxy';
import { createProxyServer } from 'http-proxy-3';
import { announce } from './announce.ts';

const [name = '', target = '', certFile = '', keyFile = ''] = process.argv.slice(2);
const options = { target, agent: new Agent({ keepAlive: true }) };
const proxy = name === 'http-proxy' ? httpProxy.createProxyServer(options) : createProxyServer(options);
const server = createServer(
  { cert: readFileSync(certFile), key: readFileSync(keyFile) },
  (request, response) => proxy.web(request, response),
);
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => announce(server));
