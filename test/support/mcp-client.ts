/**
 * A client of an MCP server over its standard input and output: one JSON-RPC message a line.
 * https://modelcontextprotocol.io/specification/2025-06-18/basic/transports
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

interface Message {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: unknown;
}

export async function startMcpServer(command: string, words: readonly string[]) {
  const server = spawn(command, words, { env: { HOME: '/nonexistent' } });
  const log = text(server.stderr);
  const waiting = new Map<number, (message: Message) => void>();
  createInterface({ input: server.stdout }).on('line', (line) => {
    const message: Message = JSON.parse(line);
    if (message.id !== undefined) waiting.get(message.id)?.(message);
  });
  const send = (message: object) => {
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  };
  let last = 0;
  const ask = (method: string, params: object = {}): Promise<Message> => {
    last += 1;
    const id = last;
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    waiting.set(id, resolve);
    server.once('exit', () => reject(new Error(`the MCP server ended before it answered ${method}`)));
    send({ id, method, params });
    return promise;
  };
  await ask('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  });
  send({ method: 'notifications/initialized' });
  return {
    /** @returns the whole answer, or what the server says is wrong */
    ask,
    /** The names of all tools that the server offers. */
    async tools() {
      const { result } = await ask('tools/list');
      const { tools }: { tools: { name: string }[] } = JSON.parse(JSON.stringify(result));
      return tools.map(({ name }) => name).sort();
    },
    /** Ends the server. @returns its log */
    async close() {
      server.removeAllListeners('exit');
      const ended = once(server, 'exit');
      server.stdin.end();
      await ended;
      return log;
    },
  };
}
