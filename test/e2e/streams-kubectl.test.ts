/** When a user's access ends, some kubectl commands end with an error and others without one. */
import { once } from 'node:events';
import t from 'tap';
import { parse } from 'yaml';
import { kubectlsOrSkip } from '../support/apiserver/kubectl.ts';
import { prints, startForKubectl } from '../support/kubectl-users.ts';

/** From this minor version on, kubectl exec uses WebSocket. */
const EXEC_BY_WEBSOCKET = 30;

const binaries = kubectlsOrSkip(t, 'kubectl and the end of access');
for (const binary of binaries)
  for (const http2 of [true, false])
    t.test(`when access ends, ${binary.split('/').at(-1)} over HTTP/${http2 ? 2 : 1.1} exits`, async (t) => {
      const everybody = await startForKubectl(t, {
        configuration: { server: { http2 }, limits: { streams: { recheck: '200ms' } } },
      });
      const { keystone, keystoneToken, configure, app, log } = everybody.stonegate;
      await configure(
        parse(`
        server: {http2: ${http2}}
        authentication:
          keystone: {url: ${keystone.url}, caFile: ca.crt, timeout: 60s, cacheTTL: 50ms}
        limits: {streams: {recheck: 200ms}}`),
      );
      await app.reload();
      log.append('first line');
      const alice = everybody.as(binary, keystoneToken('alice'));
      /** Resolves once the command has printed this. @returns how it will end */
      const run = async (words: readonly string[], printed: RegExp) => {
        const child = alice.start(words);
        let complaint = '';
        child.stderr?.on('data', (chunk: unknown) => {
          complaint += String(chunk);
        });
        const ended = once(child, 'close').then(([code]: unknown[]) => ({ code, complaint }));
        child.stdin?.write('typed\n');
        await prints(child, printed);
        return { ended };
      };
      const [watch, logs, exec, forward] = await Promise.all([
        run(['get', 'configmaps', '-w'], /settings/),
        run(['logs', '-f', 'web'], /first line/),
        run(['exec', '-i', 'web', '--', 'cat'], /typed/),
        run(['port-forward', 'web', ':80'], /Forwarding/),
      ]);

      keystone.directory.user('acme', 'alice').deleted = true;

      t.same(await watch.ended, { code: 0, complaint: '' }, 'a watch ends without an error');
      t.match(await logs.ended, {
        code: 1,
        complaint: http2 ? /stream error: .*INTERNAL_ERROR/ : /unexpected EOF/,
      });
      // Over SPDY kubectl takes any end of the connection for the end of the command.
      const bySPDY = { code: 0, complaint: '' };
      const byWebSocket = { code: 1, complaint: /close 1006/ };
      t.match(await exec.ended, alice.minor < EXEC_BY_WEBSOCKET ? bySPDY : byWebSocket);
      t.match(await forward.ended, { code: 1, complaint: /lost connection to pod/ });
    });
