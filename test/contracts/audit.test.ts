/**
 * The audit log as collectors parse it: each field in its order, with values that differ from run to run
 * replaced.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { startStonegate } from '../support/stonegate.ts';
import type { Mode } from '../support/testbed.ts';
import { sameAsRecorded } from './recorded.ts';

/** The lines of the file, unparsed. */
async function linesOf(folder: string, enough: number): Promise<string[]> {
  let lines: string[] = [];
  await eventually(async () => {
    lines = (await readFile(join(folder, 'audit.log'), 'utf8')).split('\n').slice(0, -1);
    return lines.length >= enough;
  });
  return lines;
}

/**
 * Replaces values that differ from run to run. Equal values get equal names, numbered by first occurrence.
 */
function withoutChance(text: string): string {
  const names = new Map<string, string>();
  const renamed = (kind: string) => (found: string) => {
    const name = names.get(found) ?? `${kind}-${names.size + 1}`;
    names.set(found, name);
    return name;
  };
  return (
    text
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/"auditID":"[^"]+"/g, '"auditID":"AUDIT-ID"')
      .replace(/127\.0\.0\.1:\d+/g, 'LOOPBACK')
      // The wording of messages may be improved.
      .replace(/"message":"(?:[^"\\]|\\.)*"/g, '"message":"MESSAGE"')
      .replace(/\b[0-9a-f]{32}\b/g, renamed('id'))
      .replace(/(?<="keystone\.stonegate\.dev\/[a-z-]*audit[a-z-]*":")[^"]+/g, renamed('audit'))
      .replace(/(?<="stonegate\.dev\/token-id":")[^"]+/g, renamed('jti'))
      .replace(/(?<="JTI=)[^"]+/g, renamed('jti'))
  );
}

async function recordFor(t: Test, mode: Mode): Promise<string> {
  const folder = t.testdir();
  const stonegate = await startStonegate(t, { folder, mode });
  const { ask, provider, keystoneToken } = stonegate;
  const namespace = mode === 'arktos' ? 'default' : 'acme';
  const alice = keystoneToken('alice');
  const agent = { 'user-agent': 'a client' };
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  await ask(undefined, pods, { headers: agent });
  await ask('not-a-token', `${pods}?token=secret`);
  await ask(alice, pods, { headers: agent });
  await ask(alice, `${pods}/web`);
  await ask(alice, `${pods}/web/log`);
  await ask(alice, '/version');
  await ask(alice, '/apis/apps/v1');
  await ask(alice, '/metrics');
  await ask(alice, `${pods}/none`, { method: 'DELETE' });
  await ask(alice, `/api/v1/tenants/globex/namespaces/${namespace}/pods`);
  await ask(alice, pods, { headers: { 'impersonate-user': 'mallory', 'impersonate-group': 'g' } });
  await ask(alice, pods, { headers: { 'impersonate-user': 'acme:alice' } });
  await ask(await provider.idToken('carol'), pods);
  // Three lines for each long-running request, two for each other request of a known user, one for the rest.
  await ask(undefined, '/the-last-request');
  await eventually(async () => (await linesOf(folder, 1)).at(-1)?.includes('/the-last-request') === true);
  const lines = await linesOf(folder, 1);
  return withoutChance(`${lines.join('\n')}\n`);
}

for (const mode of ['arktos', 'shared'] as const) {
  t.test(`${mode}: audit events are as recorded`, async (t) => {
    sameAsRecorded(t, `audit/${mode}.jsonl`, await recordFor(t, mode));
  });
}
