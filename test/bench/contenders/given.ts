/** A contender given on the command line. */
import { CONTENDER_CORE, start } from '../processes.ts';
import { untilListening } from '../waiting.ts';
import type { Contender } from './contender.ts';

/**
 * `name=command,port`: a program that already knows its upstream and serves TLS on the port.
 *
 * @returns undefined where the text is not of that form
 */
export function parseContender(text: string): Contender | undefined {
  const match = /^([\w-]+)=(.+),(\d+)$/.exec(text);
  const [, name = '', command = '', port = ''] = match ?? [];
  if (match === null) return undefined;
  return {
    name,
    async start({ site, upstream }) {
      const running = start(CONTENDER_CORE, ['sh', '-c', `exec ${command}`], {
        UPSTREAM: site.upstream[upstream],
        CERT_FILE: site.certFile,
        KEY_FILE: site.keyFile,
        CA_FILE: site.caFile,
      });
      await untilListening(running, Number(port));
      return { ...running, port: Number(port) };
    },
  };
}
