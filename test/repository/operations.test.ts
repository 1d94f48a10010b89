/** The runbook matches the alerts. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { CODES } from '../../src/errors/codes.ts';
import { alerts } from '../support/prometheus/rules.ts';

const runbook = readFileSync('docs/operations.md', 'utf8');

t.test('docs/operations.md has exactly one section for each alert, in the order of the rules', async (t) => {
  const [, section = ''] = runbook.split('\n## Alerts\n');
  t.same(
    [...section.matchAll(/^### (\S+)$/gm)].map(([, name]) => name),
    alerts().map(({ alert }) => alert),
  );
});

t.test('each section says when the alert fires, why, and what to do', async (t) => {
  const sections = runbook.split(/^### /m).slice(1);
  for (const section of sections)
    t.match(
      section,
      /\*\*What fires:\*\*.*\*\*Why:\*\*.*\*\*What to do:\*\*/s,
      section.slice(0, section.indexOf('\n')),
    );
});

t.test('the error codes in alerts exist', async (t) => {
  const named = alerts().flatMap(({ expr }) =>
    [...expr.matchAll(/code=~?"([^"]+)"/g)].flatMap(([, codes = '']) => codes.split('|')),
  );
  t.ok(named.length > 0);
  t.same(
    named.filter((code) => !(code in CODES)),
    [],
  );
});

t.test('the runbook begins with five commands', async (t) => {
  const [, commands = ''] = /^## Five commands\n.*?```sh\n(.*?)```/ms.exec(runbook) ?? [];
  t.equal(commands.match(/^# \d\. /gm)?.length, 5);
  t.ok(runbook.indexOf('## Five commands') < runbook.indexOf('## Alerts'));
});
