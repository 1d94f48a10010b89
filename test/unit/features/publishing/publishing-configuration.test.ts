import t from 'tap';
import { matchesPattern } from '../../../../src/features/publishing/publishing-configuration.ts';

t.test('a name is published if it matches the whole pattern', async (t) => {
  for (const [pattern, name] of [
    ['shared', 'shared'],
    ['shared-*', 'shared-ca'],
    ['*.example.com', 'widgets.example.com'],
    ['a*a', 'aa'],
  ] as const)
    t.ok(matchesPattern(pattern, name), `${pattern} ${name}`);
  for (const [pattern, name] of [
    ['shared', 'shared-ca'],
    ['shared-*', 'my-shared-ca'],
    ['a*a', 'a'],
  ] as const)
    t.notOk(matchesPattern(pattern, name), `${pattern} ${name}`);
});
