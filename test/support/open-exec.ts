/**
 * A raw connection into a pod: it sends an upgrade, reads the head of the response, and leaves the rest to
 * the test.
 */
import { once } from 'node:events';
import { connect as connectTLS, type TLSSocket } from 'node:tls';
import type { Test } from 'tap';

export const EXEC = '/api/v1/namespaces/default/pods/web/exec?command=cat&stdin=true&stdout=true';

/** @param path with the command in its query */
export async function openExec(
  t: Test,
  destination: { port: number; ca: string },
  token: string,
  protocol: 'websocket' | 'SPDY/3.1',
  path = EXEC,
): Promise<TLSSocket> {
  const socket = connectTLS({ ...destination, host: '127.0.0.1', ALPNProtocols: ['http/1.1'] });
  t.teardown(() => socket.destroy());
  await once(socket, 'secureConnect');
  const fields =
    protocol === 'websocket'
      ? 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io'
      : 'X-Stream-Protocol-Version: v4.channel.k8s.io\r\nContent-Length: 0';
  socket.write(
    `${protocol === 'websocket' ? 'GET' : 'POST'} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${fields}\r\n\r\n`,
  );
  socket.on('error', () => {});
  const closed = once(socket, 'close').then(() => ['closed before the end of the head\r\n\r\n']);
  let head = '';
  while (!head.includes('\r\n\r\n')) head += String((await Promise.race([once(socket, 'data'), closed]))[0]);
  t.match(head, /^HTTP\/1.1 101 /, protocol);
  return socket;
}
